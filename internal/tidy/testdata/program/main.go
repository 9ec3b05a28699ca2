// Program does something.
package main

func main() {}
