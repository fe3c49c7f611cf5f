package rest

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/auth"
)

// The paths of the documents with which other programs verify the tokens of service
// accounts.
const (
	issuerPath = "/.well-known/openid-configuration"
	keysPath   = "/openid/v1/jwks"
)

func isIssuerPath(path string) bool { return path == issuerPath || path == keysPath }

// serveIssuer serves the two documents. Clients may keep them, unlike other answers.
func serveIssuer(w http.ResponseWriter, req *http.Request, issuer *auth.Issuer) {
	if req.Method != http.MethodGet {
		writeError(w, req, unknownMethod())
		return
	}
	document, ok, err := issuer.Document(req.URL.Path == keysPath)
	if err != nil {
		writeError(w, req, apierrors.NewInternalError(err))
		return
	}
	if !ok {
		http.NotFound(w, req)
		return
	}
	if !accepts(req, document.MediaType) {
		writeError(w, req, notAvailable(document.MediaType))
		return
	}
	w.Header().Set("Content-Type", document.MediaType)
	w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", document.MaxAge))
	_, _ = w.Write(document.JSON) // the client may have gone
}
