//go:build never

// Package modules names the modules whose CustomResourceDefinitions are installed, in
// a go.mod of its own: their requirements would change the versions of the libraries
// that fakecluster is tested with. No code of theirs is used or built. The imports
// keep the modules, with their checksums, in go.mod.
package modules

import (
	_ "github.com/cert-manager/cert-manager/pkg/apis/certmanager"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "istio.io/api/label"
	_ "sigs.k8s.io/cluster-api/version"
)
