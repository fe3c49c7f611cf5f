package player

import (
	"fmt"
	"net/url"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Call is one request, ready to send.
type Call struct {
	Method, Path string
	query        url.Values
	Headers      map[string]any
	// Body is a resolved tree, or text; nil is none.
	Body any
	// by makes the request; nil: the administrator.
	by *syntax.User
}

// newCall returns the call of r to a path.
func newCall(r syntax.Request, method, path string, body any) Call {
	headers := r.Headers
	if r.AsTable {
		headers = withDefault(headers, "Accept", tableMediaType)
	}
	return Call{method, path, query(r.Options), headers, body, r.By}
}

// resolveRequest returns a copy of r in which each !from is replaced by its value.
func resolveRequest(r syntax.Request, answers map[string]Answer) (syntax.Request, error) {
	for _, fields := range []*map[string]any{&r.Argument, &r.To, &r.Options, &r.Headers} {
		if *fields == nil {
			continue
		}
		resolved, err := resolveFields(*fields, answers)
		if err != nil {
			return r, err
		}
		*fields = resolved
	}
	var err error
	if r.By, err = resolveUser(r.By, answers); err != nil {
		return r, err
	}
	r.Body, err = Resolve(r.Body, answers)
	return r, err
}

// manifestTarget returns the target that the manifest of r is sent to.
func manifestTarget(r syntax.Request) target {
	if r.To != nil {
		return targetOfReference(r.To)
	}
	return targetOfManifest(r.Argument)
}

// content returns the body of a request with a manifest: the manifest, or the value of the field body in its place.
func content(r syntax.Request) any {
	if r.Body != nil {
		return r.Body
	}
	return r.Argument
}

// query returns the options as query parameters, without those marked !absent.
func query(options map[string]any) url.Values {
	values := url.Values{}
	for name, option := range options {
		switch option := option.(type) {
		case syntax.Absent:
		case []any:
			for _, each := range option {
				values.Add(name, fmt.Sprint(each))
			}
		default:
			values.Set(name, fmt.Sprint(option))
		}
	}
	return values
}
