package rest

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	"github.com/fakecluster/fakecluster/internal/write"
)

// write makes the request for a write of the object or the subresource that the path names.
func (r *request) write(change write.Change, options write.Options) *write.Request {
	return &write.Request{
		Version: r.version, Namespace: r.namespace(), Name: r.info.Name, Subresource: r.info.Subresource,
		Change: change, Manager: managerOf(options.FieldManager, r.http.UserAgent()),
		Options: options, Refuse: r.refusal(),
	}
}

// carryOut runs a write, and answers with its result.
func (r *request) carryOut(w *write.Request) error {
	result, err := r.run(w)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if result.Created {
		code = http.StatusCreated
	}
	return r.answerWrite(code, result)
}

// run runs a write by [server.Cluster.Run]. It sets the version of the request to that of the result.
func (r *request) run(w *write.Request) (write.Result, error) {
	result, err := inTime(r, w, func(r *request, w *write.Request) (write.Result, error) { return r.cluster.Run(r.ctx, w) })
	if err == nil {
		r.version = result.Version
	}
	return result, err
}

// answerWrite answers with the object that a write returned.
func (r *request) answerWrite(code int, result write.Result) error {
	text, err := r.projectWritten(result.Text)
	if err != nil {
		return err
	}
	if r.projection() != nil {
		return r.answer(code, text)
	}
	return r.answerObject(code, text, result.Stored)
}

// managerOf returns the field manager that a request names, or else the beginning of its
// user agent.
func managerOf(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range name {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > metav1validation.FieldManagerMaxLength {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
