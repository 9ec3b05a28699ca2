// Package constrained has a file that this compiler is not shown.
package constrained
