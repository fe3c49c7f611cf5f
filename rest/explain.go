package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/fakecluster/fakecluster/inspect"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/observe"
	"github.com/fakecluster/fakecluster/internal/server/console"
)

// ExplainHeader is the header with which a client requests the explanation of a create, update, patch or
// delete of one object. The header has no effect on the write: it is committed unless the query has
// dryRun=All.
//
//   - With the value text or json, the explanation is the body of the answer, in place of the object or the
//     Status. The status code is the same as without the header.
//   - With the value header, the answer is the same as without the header, and has the explanation as JSON, an
//     [inspect.Explanation], in the header ExplanationHeader. If it is longer than 64 KiB, its field Omitted
//     says so.
//
// Any other value, and any other request, is answered with 400.
const (
	ExplainHeader     = "Fakecluster-Explain"
	ExplanationHeader = "Fakecluster-Explanation"
)

// maxExplanationHeader limits an explanation in a header, in bytes. Clients limit the headers that they read,
// curl to 100 KiB.
const maxExplanationHeader = 64 << 10

// explainWrites explains the writes whose clients request it.
func (h *handler) explainWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if as := req.Header[ExplainHeader]; len(as) > 0 {
			h.explain(next, w, req, as[0])
			return
		}
		next.ServeHTTP(w, req)
	})
}

func (h *handler) explain(next http.Handler, w http.ResponseWriter, req *http.Request, as string) {
	if info := infoOf(req); !info.IsResourceRequest || !explainable[info.Verb] {
		writeError(w, req, apierrors.NewBadRequest(ExplainHeader+": only a create, an update, a patch and a delete of one object are explained"))
		return
	}
	contextOf(req).observe.Explain()
	switch as {
	case "header":
		next.ServeHTTP(&inHeader{ResponseWriter: w, handler: h, req: req}, req)
	case "json", "text":
		kept := &keptAnswer{header: w.Header()}
		next.ServeHTTP(kept, req)
		explained := h.explanation(req, kept.code, w.Header())
		text, mediaType := []byte(explained.String()), "text/plain; charset=utf-8"
		if as == "json" {
			var err error
			if text, err = json.Marshal(explained); err != nil {
				writeError(w, req, apierrors.NewInternalError(err))
				return
			}
			text, mediaType = append(text, '\n'), "application/json"
		}
		w.Header().Del("Content-Encoding")
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.WriteHeader(kept.code)
		_, _ = w.Write(text) // the client may have gone
	default:
		writeError(w, req, apierrors.NewBadRequest(fmt.Sprintf("%s: %q is not supported; write header, json or text", ExplainHeader, as)))
	}
}

// explainable are the verbs that write one object.
var explainable = map[string]bool{"create": true, "update": true, "patch": true, "delete": true}

// explanation returns the explanation of a request whose response is complete.
func (h *handler) explanation(req *http.Request, code int, header http.Header) inspect.Explanation {
	c, info := contextOf(req), infoOf(req)
	q := inspect.ExplainedRequest{UserAgent: req.UserAgent(), Verb: info.Verb, Version: info.APIVersion}
	if c.user != nil {
		q.User = c.user.GetName()
	}
	if info.Verb == "patch" {
		q.Patch = history.PatchWord(req.Header.Get("Content-Type"))
	}
	parsed, _ := utilnet.ParseWarningHeaders(header["Warning"])
	var warnings []string
	for _, w := range parsed {
		warnings = append(warnings, w.Text)
	}
	return c.observe.Explanation(observe.Response{
		Request: q, Code: code, Warnings: warnings,
		Object: func(name string) string {
			return inspect.ObjectName(info.APIGroup, info.Resource, info.Subresource, info.Namespace, cmp.Or(info.Name, name))
		},
		Since: func(revision int64) []inspect.InterveningWrite {
			written := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
			return console.WritesSince(h.cluster, written, info.Namespace, info.Name, revision)
		},
	})
}

// inHeader is an answer that has the explanation in its header.
type inHeader struct {
	http.ResponseWriter
	handler *handler
	req     *http.Request
	written bool
}

// Unwrap is for http.ResponseController.
func (a *inHeader) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *inHeader) WriteHeader(code int) {
	if !a.written && code >= http.StatusOK {
		a.written = true
		explained := a.handler.explanation(a.req, code, a.Header())
		text, err := json.Marshal(explained)
		if err == nil && len(text) > maxExplanationHeader {
			text, err = json.Marshal(inspect.Explanation{
				Request: explained.Request, Answer: explained.Answer,
				Omitted: fmt.Sprintf("the explanation has %d bytes, too many for a header; %s: json has all of it", len(text), ExplainHeader),
			})
		}
		if err == nil {
			a.Header().Set(ExplanationHeader, ascii(string(text)))
		}
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *inHeader) Write(p []byte) (int, error) {
	if !a.written {
		a.WriteHeader(http.StatusOK)
	}
	return a.ResponseWriter.Write(p)
}

// ascii escapes the characters of a JSON text that are not ASCII, because a header cannot have them.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f:
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
