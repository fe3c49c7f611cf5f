package host

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// admits reports whether a request may be served, and rejects it otherwise. A web page cannot use the host: it does not
// have the token, a browser marks its requests with headers, and a page whose DNS name was pointed to this machine (DNS
// rebinding) sends that name as the Host. A browser cannot connect to a Unix socket at all.
func (h *Host) admits(w http.ResponseWriter, req *http.Request) bool {
	var err error
	switch site := req.Header.Get("Sec-Fetch-Site"); {
	case h.options.Token != "" && !isLoopback(req.Host):
		err = refuse(http.StatusForbidden, "the host serves programs on this machine only, at its loopback address: %.100q is not one", req.Host)
	case req.Header.Get("Origin") != "" || site != "" && site != "none":
		err = refuse(http.StatusForbidden, "the host serves programs on this machine only, not the pages of a browser")
	case h.options.Token != "" && !h.authenticates(req):
		w.Header().Set("WWW-Authenticate", "Bearer")
		err = refuse(http.StatusUnauthorized, "the header Authorization must be: Bearer TOKEN, with the token that the host has printed")
	}
	if err != nil {
		writeError(w, err)
	}
	return err == nil
}

func (h *Host) authenticates(req *http.Request) bool {
	token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(token), []byte(h.options.Token)) == 1
}

// isLoopback reports whether a Host header is a loopback address or localhost.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address := net.ParseIP(strings.Trim(host, "[]"))
	return address != nil && address.IsLoopback() || strings.EqualFold(host, "localhost")
}
