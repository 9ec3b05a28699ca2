// This is a package whose doc godoc would show under no name.
package misnamed
