package api

import "fmt"

// Refusal is the body of an answer that is not what was asked for.
type Refusal struct {
	Error string `json:"error"`
}

// An Error is an error with the status that it has over HTTP.
type Error struct {
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// WithStatus gives an error a status.
func WithStatus(status int, err error) error { return &Error{status, err} }

// Errorf makes an error with a status.
func Errorf(status int, format string, args ...any) error {
	return &Error{status, fmt.Errorf(format, args...)}
}
