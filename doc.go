// Package regent elects leaders.
package regent
