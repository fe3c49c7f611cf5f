package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"
)

// operation is one route of the control API.
type operation struct {
	name         string // in OpenAPI, such as startCluster
	method, path string
	doc          string
	request      reflect.Type // nil: there is none
	answer       reflect.Type // nil: there is none
	serve        func(h *Host, w http.ResponseWriter, req *http.Request)
}

// none is the request or the answer of an operation without one.
type none struct{}

// content is an answer that is not JSON.
type content struct {
	mediaType string
	bytes     []byte
}

// call is a call of an operation.
type call struct {
	context.Context
	host    *Host
	cluster *cluster                 // in the path; nil: the path has none
	path    func(name string) string // the value of a parameter in the path
}

// on returns an operation. It reads the request from the body, or from the query if the method is GET or DELETE.
func on[Request, Answer any](name, method, path, doc string, do func(call, Request) (Answer, error)) operation {
	return onCluster((*Host).cluster, name, method, path, doc, do)
}

// onCluster is on with a function that finds the cluster in the path.
func onCluster[Request, Answer any](find func(h *Host, id string) (*cluster, error), name, method, path, doc string, do func(call, Request) (Answer, error)) operation {
	o := operation{name: name, method: method, path: path, doc: doc, request: typeOf[Request](), answer: typeOf[Answer]()}
	o.serve = func(h *Host, w http.ResponseWriter, req *http.Request) {
		c := call{Context: req.Context(), host: h, path: req.PathValue}
		if strings.Contains(path, "{cluster}") {
			var err error
			if c.cluster, err = find(h, req.PathValue("cluster")); err != nil {
				writeError(w, err)
				return
			}
			if err := c.checkBubble(name); err != nil {
				writeError(w, err)
				return
			}
			if c.cluster.other != nil && !servedHere[name] {
				c.cluster.other.forward(c.cluster.id, w, req)
				return
			}
		}
		answer, err := func() (answer Answer, err error) {
			var request Request
			if err := read(req, &request, o); err != nil {
				return answer, err
			}
			return do(c, request)
		}()
		if err != nil {
			writeError(w, err)
			return
		}
		write(w, answer)
	}
	return o
}

// checkBubble returns an error if the cluster of a call is in another bubble. Only forkCluster may be called in a bubble
// for a cluster outside.
func (c call) checkBubble(operation string) error {
	switch here := driverOf(c); {
	case c.cluster.driver == here, c.cluster.driver == nil && c.cluster.other == nil && operation == "forkCluster":
		return nil
	case c.cluster.driver != nil:
		return errOtherBubble
	}
	return errOutsideBubble
}

// typeOf returns the type of a request or an answer, or nil if there is none.
func typeOf[T any]() reflect.Type {
	if t := reflect.TypeFor[T](); t != reflect.TypeFor[none]() {
		return t
	}
	return nil
}

// inQuery reports whether the operation reads its request from the query of the URL.
func (o operation) inQuery() bool { return o.method == http.MethodGet || o.method == http.MethodDelete }

// refusal is an error with the HTTP status of the answer.
type refusal struct {
	code int
	error
}

// Unwrap returns the wrapped error.
func (r refusal) Unwrap() error { return r.error }

func refuse(code int, format string, args ...any) error {
	return refusal{code, fmt.Errorf(format, args...)}
}

// failed returns err with the status 422: the request was valid, but a check or a wait failed.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return refusal{http.StatusUnprocessableEntity, err}
}

// wrong returns err with the status 400: the request has a mistake.
func wrong(err error) error {
	if err == nil {
		return nil
	}
	return refusal{http.StatusBadRequest, err}
}

// Failure is the answer to a request that fails.
type Failure struct {
	Error string `json:"error" doc:"what is wrong, and what to do"`
}

func writeError(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	if r := (refusal{}); errors.As(err, &r) {
		code = r.code
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = encode(w, Failure{err.Error()}) // the client may have gone
}

// write writes an answer.
func write(w http.ResponseWriter, answer any) {
	switch answer := answer.(type) {
	case none:
		w.WriteHeader(http.StatusNoContent)
	case content:
		w.Header().Set("Content-Type", answer.mediaType)
		_, _ = w.Write(answer.bytes) // the client may have gone
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = encode(w, answer) // the client may have gone
	}
}

// encode writes a value as JSON, without escapes for <, > and &: the answers are not embedded in HTML.
func encode(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// maxBody limits the body of a request, in bytes. It may contain a snapshot.
const maxBody = 1 << 30

// read reads the request of an operation. An unknown field is an error that lists the known ones.
func read(req *http.Request, into any, o operation) error {
	t := reflect.TypeOf(into).Elem()
	if o.inQuery() {
		return wrong(readQuery(req.URL.Query(), reflect.ValueOf(into).Elem()))
	}
	if len(req.URL.Query()) > 0 {
		return refuse(http.StatusBadRequest, "%s %s takes its request as JSON in the body, not in the query", o.method, o.path)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, req.Body, maxBody))
	if err != nil {
		return wrong(err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil // no body is an empty request
	}
	mistakes, err := kjson.UnmarshalStrict(body, into) // unlike encoding/json, it distinguishes upper and lower case
	if err == nil {
		err = errors.Join(mistakes...)
	}
	if err == nil {
		return nil
	}
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "json: "), "\n", ", ")
	if mistyped := (*json.UnmarshalTypeError)(nil); errors.As(err, &mistyped) {
		text = fmt.Sprintf("the field %s cannot be a %s", strings.Trim(mistyped.Field, "."), mistyped.Value)
		if mistyped.Field == "" {
			text = "the body must be a JSON object, but has the type " + mistyped.Value
		}
	}
	fields := "it has no fields"
	if names := fieldNames(t); len(names) > 0 {
		fields = "its fields are " + strings.Join(names, ", ")
	}
	return refuse(http.StatusBadRequest, "the request of %s %s: %s; %s", o.method, o.path, text, fields)
}

// readQuery reads the parameters of a query into the fields of a struct.
func readQuery(query url.Values, into reflect.Value) error {
	fields := fieldsOf(into.Type())
	for name, values := range query {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case i < 0 && len(fields) == 0:
			return fmt.Errorf("unknown parameter %q: the operation has none", name)
		case i < 0:
			return fmt.Errorf("unknown parameter %q: the operation has %s", name, strings.Join(fieldNames(into.Type()), ", "))
		case len(values) > 1:
			return fmt.Errorf("the parameter %s is given %d times", name, len(values))
		}
		if err := readParameter(name, values[0], into.FieldByName(fields[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

func readParameter(name, value string, into reflect.Value) (err error) {
	switch into.Kind() {
	case reflect.String:
		into.SetString(value)
	case reflect.Bool:
		var parsed bool
		if parsed, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("the parameter %s must be true or false, not %q", name, value)
		}
		into.SetBool(parsed)
	case reflect.Int, reflect.Int64:
		var n int64
		if n, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("the parameter %s must be a whole number, not %q", name, value)
		}
		into.SetInt(n)
	default:
		panic("a parameter of the type " + into.Type().String())
	}
	return nil
}

// fieldNames returns the names of the fields of a struct in JSON, in their order.
func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range fieldsOf(t) {
		names = append(names, f.name)
	}
	return names
}
