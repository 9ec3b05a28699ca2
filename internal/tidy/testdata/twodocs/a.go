// Package twodocs has two docs.
package twodocs
