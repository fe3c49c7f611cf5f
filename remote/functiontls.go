package remote

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
)

// tlsHeader is the header of a call that describes the TLS connection of the caller, which ends in the host.
const tlsHeader = "Fakecluster-Tls"

// setTLS sets the field TLS of the request of a call, as the server of the handler would.
func setTLS(req *http.Request) {
	text := req.Header.Get(tlsHeader)
	req.Header.Del(tlsHeader)
	var described struct {
		Version, CipherSuite uint16
		ServerName, Protocol string
		Resumed              bool
		Certificates         [][]byte
	}
	if text == "" || json.Unmarshal([]byte(text), &described) != nil {
		return
	}
	req.TLS = &tls.ConnectionState{
		Version: described.Version, HandshakeComplete: true, DidResume: described.Resumed, CipherSuite: described.CipherSuite,
		NegotiatedProtocol: described.Protocol, NegotiatedProtocolIsMutual: true, ServerName: described.ServerName,
	}
	if described.Certificates != nil {
		req.TLS.PeerCertificates = []*x509.Certificate{}
	}
	for _, raw := range described.Certificates {
		if certificate, err := x509.ParseCertificate(raw); err == nil {
			req.TLS.PeerCertificates = append(req.TLS.PeerCertificates, certificate)
		}
	}
}
