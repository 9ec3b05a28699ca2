// Package formatted is not as gofmt writes it.
package formatted

var   x = 1
