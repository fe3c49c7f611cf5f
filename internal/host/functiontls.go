package host

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
)

// tlsHeader is the header of a call with the TLS connection of the caller, which ends in the host.
const tlsHeader = "Fakecluster-Tls"

// TLSConnection describes the TLS connection of the caller of a function, for the field TLS of its request.
type TLSConnection struct {
	Version      uint16   `json:"version"`
	CipherSuite  uint16   `json:"cipherSuite"`
	ServerName   string   `json:"serverName,omitempty"`
	Protocol     string   `json:"protocol,omitempty"` // of ALPN
	Resumed      bool     `json:"resumed,omitempty"`
	Certificates [][]byte `json:"certificates"` // of the caller, in DER; null: the handler does not ask for one
}

// withTLS describes the TLS connection of a request in a header.
func withTLS(header http.Header, state *tls.ConnectionState) {
	header.Del(tlsHeader)
	if state == nil {
		return
	}
	described := TLSConnection{
		Version: state.Version, CipherSuite: state.CipherSuite, ServerName: state.ServerName, Protocol: state.NegotiatedProtocol, Resumed: state.DidResume,
	}
	if state.PeerCertificates != nil {
		described.Certificates = [][]byte{}
	}
	for _, certificate := range state.PeerCertificates {
		described.Certificates = append(described.Certificates, certificate.Raw)
	}
	text, err := json.Marshal(described)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	header.Set(tlsHeader, string(text))
}
