package rest

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
)

// The paths of the documents with which OpenID Connect clients verify the tokens of service accounts.
const (
	issuerPath = "/.well-known/openid-configuration"
	keysPath   = "/openid/v1/jwks"
)

// serveIssuer serves the two documents. Clients may cache them, unlike other responses. Over TLS the address of the
// keys is the one that the client has used.
func serveIssuer(w http.ResponseWriter, req *http.Request, issuer *authentication.Issuer) {
	if req.Method != http.MethodGet {
		writeError(w, req, unknownMethod())
		return
	}
	address := ""
	if req.TLS != nil {
		address = req.Host
	}
	document, ok, err := issuer.Document(strings.HasPrefix(req.URL.Path, keysPath), address)
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
