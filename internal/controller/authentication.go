package controller

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
)

// authenticationInfo is the ConfigMap with the authorities that aggregated API servers trust.
var authenticationInfo = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}

// The keys of the certificates in its data.
const (
	clientCAs     = "client-ca-file"
	frontProxyCAs = "requestheader-client-ca-file"
)

// frontProxyLists are the keys of lists in JSON.
var frontProxyLists = []string{
	"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
	"requestheader-extra-headers-prefix", "requestheader-allowed-names",
}

// expiredFor is how long an expired certificate is kept.
const expiredFor = 5 * time.Minute

// authenticationTrust adds the authorities that the server trusts to those that other servers have published, and
// restores them when a client changes or deletes them.
func authenticationTrust() *controller {
	published := key{namespace: authenticationInfo.Namespace, name: authenticationInfo.Name}
	return &controller{
		identity: APIServer,
		first: func(s *step) {
			if len(s.server.AuthenticationInfo()) > 0 {
				s.enqueue(published)
			}
		},
		catchUp: func(s *step, _ int64) error {
			s.enqueue(published)
			return nil
		},
		follows: []followed{{kind: configMaps, concerns: func(s *step, c change) error {
			if c.Name == authenticationInfo.Name && c.Namespace == authenticationInfo.Namespace {
				s.enqueue(c.key())
			}
			return nil
		}}},
		sync: func(s *step, k key) error {
			current, err := find[*corev1.ConfigMap](s, configMaps, k.namespace, k.name)
			if err != nil {
				return err
			}
			mended := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: k.name}}
			if current != nil {
				mended = current.DeepCopy()
			}
			if mended.Data, err = combinedInfo(mended.Data, s.server.AuthenticationInfo(), s.now()); err != nil {
				return err
			}
			switch {
			case current == nil:
				return s.create(configMaps, k.namespace, mended)
			case maps.Equal(current.Data, mended.Data):
				return nil
			}
			return s.update(configMaps, mended, "")
		},
	}
}

// combinedInfo returns the data of the ConfigMap: the existing data with that of the server.
func combinedInfo(there, added map[string]string, now time.Time) (map[string]string, error) {
	data := map[string]string{}
	for _, key := range []string{clientCAs, frontProxyCAs} {
		bundle, err := combinedCAs(there[key], added[key], now)
		if err != nil {
			return nil, err
		}
		if bundle != "" {
			data[key] = bundle
		}
	}
	if data[frontProxyCAs] == "" {
		return data, nil
	}
	for _, key := range frontProxyLists {
		names := []string{}
		for _, text := range []string{there[key], added[key]} {
			var some []string
			if text != "" {
				if err := json.Unmarshal([]byte(text), &some); err != nil {
					return nil, err
				}
			}
			for _, one := range some {
				if !slices.Contains(names, one) {
					names = append(names, one)
				}
			}
		}
		if key == "requestheader-uid-headers" && len(names) == 0 {
			continue
		}
		text, err := json.Marshal(names)
		if err != nil {
			return nil, err
		}
		data[key] = string(text)
	}
	return data, nil
}

// combinedCAs returns the certificates of two bundles, each once, without expired ones.
func combinedCAs(there, added string, now time.Time) (string, error) {
	var blocks [][]byte
	for _, bundle := range []string{there, added} {
		if bundle == "" {
			continue
		}
		certificates, err := certutil.ParseCertsPEM([]byte(bundle))
		if err != nil {
			return "", err
		}
		for _, c := range certificates {
			known := slices.ContainsFunc(blocks, func(raw []byte) bool { return bytes.Equal(raw, c.Raw) })
			if !known && c.NotAfter.After(now.Add(-expiredFor)) {
				blocks = append(blocks, c.Raw)
			}
		}
	}
	var text bytes.Buffer
	for _, raw := range blocks {
		if err := pem.Encode(&text, &pem.Block{Type: certutil.CertificateBlockType, Bytes: raw}); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}
