// This one does something.
package main

func main() {}
