package rest

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"
)

// anonymous is the user of a request without the token, where none is needed.
var anonymous = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}

// answerHealth answers the paths that ask whether the server is up. They need no token: it
// only decides who is named in the event of the request.
func answerHealth(token string) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch req.URL.Path {
			case "/healthz", "/livez", "/readyz":
				by := anonymous
				if bears(req, token) {
					by = admin
				}
				logUser(req, by)
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				w.Header().Set("X-Content-Type-Options", "nosniff")
				_, _ = w.Write([]byte("ok")) // the client may have gone
			default:
				next.ServeHTTP(w, req)
			}
		})
	}
}
