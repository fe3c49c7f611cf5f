package place

import "context"

// callerKey is the key of the line of code that sends a request, in its context.
type callerKey struct{}

// WithCaller returns a context with the line of code of the other process that sends a request.
func WithCaller(ctx context.Context, line string) context.Context {
	return context.WithValue(ctx, callerKey{}, line)
}

// Caller returns the line of code of the other process that sends a request with a context; empty: it is not known. It reports whether another process does.
func Caller(ctx context.Context) (line string, elsewhere bool) {
	line, elsewhere = ctx.Value(callerKey{}).(string)
	return line, elsewhere
}
