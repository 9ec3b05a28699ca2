// Package tests has tests that wait and tests that may not run.
package tests
