package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ServeSecure serves connections of any client over TLS, as port 10250 of a node does, until Close. Users have tokens,
// and need permissions for the subresources of the Node; it reviews both at the API server with the kubelet's client. It
// returns an error of the listener.
func (s *Server) ServeSecure(l net.Listener, config *tls.Config, client func() (kubernetes.Interface, error)) error {
	s.secure.TLSConfig, s.secure.BaseContext, s.secure.ErrorLog = config, s.http.BaseContext, log.New(io.Discard, "", 0)
	s.secure.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c, err := client()
		if err != nil {
			fail(w, http.StatusInternalServerError, err)
			return
		}
		u, ok := authenticate(req, c)
		if !ok {
			refuse(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		if code, why := authorize(req, c, u, s.node.Name()); code != http.StatusOK {
			refuse(w, code, why)
			return
		}
		s.http.Handler.ServeHTTP(w, req)
	})
	if err := s.secure.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// refuse answers with an error of the kubelet.
func refuse(w http.ResponseWriter, code int, text string) {
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text) // the client may have gone
}

// authenticate returns the user of a token.
func authenticate(req *http.Request, client kubernetes.Interface) (*authenticationv1.UserInfo, bool) {
	kind, token, _ := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !strings.EqualFold(kind, "bearer") || strings.TrimSpace(token) == "" {
		return nil, false
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: strings.TrimSpace(token)}}
	review, err := client.AuthenticationV1().TokenReviews().Create(req.Context(), review, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		return nil, false
	}
	return &review.Status.User, true
}

// authorize returns 200 if the user may send the request, for which the permission for one of the subresources is
// enough. Otherwise it returns the code and the text of the response.
func authorize(req *http.Request, client kubernetes.Interface, u *authenticationv1.UserInfo, node string) (code int, why string) {
	verb := map[string]string{
		http.MethodPost: "create", http.MethodGet: "get", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[req.Method]
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range u.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	subresources := subresourcesOf(req.URL.Path)
	for _, subresource := range subresources {
		allowed, err := review(req.Context(), client, authorizationv1.SubjectAccessReviewSpec{
			User: u.Username, UID: u.UID, Groups: u.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Version: "v1", Resource: "nodes", Subresource: subresource, Name: node},
		})
		switch {
		case err != nil:
			return http.StatusInternalServerError, fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)", u.Username, verb, subresource)
		case allowed:
			return http.StatusOK, ""
		}
	}
	return http.StatusForbidden, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)\n", u.Username, verb, subresources)
}

func review(ctx context.Context, client kubernetes.Interface, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// subresourcesOf returns the subresources of the Node for a path, in the order in which they are checked. The permission
// for one is enough.
func subresourcesOf(path string) (subresources []string) {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if fine, ok := map[string]string{"pods": "pods", "runningpods": "pods", "healthz": "healthz", "configz": "configz"}[first]; ok {
		subresources = append(subresources, fine)
	}
	if only, ok := map[string]string{
		"stats": "stats", "metrics": "metrics", "logs": "log", "checkpoint": "checkpoint", "statusz": "statusz", "flagz": "configz",
	}[first]; ok {
		return append(subresources, only)
	}
	return append(subresources, "proxy")
}
