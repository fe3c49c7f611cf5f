package aggregation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/transport"
)

// The users of requests for documents, as on a real server.
var (
	discoverer = &user.DefaultInfo{Name: "system:kube-aggregator", Groups: []string{user.SystemPrivilegedGroup}}
	describer  = &user.DefaultInfo{Name: "system:aggregator"}
)

// maxDocument limits the size of a document, in bytes.
const maxDocument = 64 << 20

// fetched is the answer of another server.
type fetched struct {
	code   int
	header http.Header
	body   []byte
}

// fetch gets a document from the server. If it cannot be reached, the code is 503.
func (s *Server) fetch(ctx context.Context, by user.Info, path, accept string, timeout time.Duration) fetched {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := s.get(ctx, by, path, accept)
	if err != nil {
		return fetched{code: http.StatusServiceUnavailable, body: []byte(err.Error())}
	}
	return answer
}

func (s *Server) get(ctx context.Context, by user.Info, path, accept string) (fetched, error) {
	s = s.answering()
	t, err := s.transport()
	if err != nil {
		return fetched{}, err
	}
	host, err := s.registry.hostOf(s.APIService.Spec.Service)
	if err != nil {
		return fetched{}, err
	}
	to := url.URL{Scheme: "https", Host: host, Path: path}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return fetched{}, err
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	transport.SetAuthProxyHeaders(req, by.GetName(), by.GetUID(), by.GetGroups(), by.GetExtra())
	resp, err := t.RoundTrip(req)
	if err != nil {
		return fetched{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		err = fmt.Errorf("the document %s of %s is larger than %d bytes", path, s.APIService.Name, maxDocument)
	}
	return fetched{resp.StatusCode, resp.Header, body}, err
}
