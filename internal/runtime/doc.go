// Package runtime drives machines in the real world: it is the only loop there is.
package runtime
