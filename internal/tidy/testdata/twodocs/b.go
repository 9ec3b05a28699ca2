// Package twodocs says again what it is.
package twodocs
