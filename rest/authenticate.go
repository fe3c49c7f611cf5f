package rest

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// admin is who bears the cluster's token: a member of the group that may do
// everything.
var admin = &user.DefaultInfo{
	Name:   "kubernetes-admin",
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

// authenticate tells who makes the request; nobody without the token.
func (s *Server) authenticate(req *http.Request) (user.Info, bool) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(req.Header.Get("Authorization")), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil, false
	}
	if subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(s.options.Token)) != 1 {
		return nil, false
	}
	return admin, true
}
