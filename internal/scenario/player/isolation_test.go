package player

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// Scenarios are played together if they keep to their namespaces and definitions.
func TestScenariosThatKeepToTheirOwnObjectsAreIsolated(t *testing.T) {
	definition := "scenario: a\nsetup:\n- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com}, spec: {group: example.com}}\nsteps:\n- "
	for step, want := range map[string]bool{
		"get: {apiVersion: v1, kind: Pod, name: a}":                                                       true,
		"list: {apiVersion: v1, kind: Pod, namespace: default}":                                           true,
		"list: {apiVersion: v1, kind: Pod}":                                                               false,
		"list: {apiVersion: example.com/v1, kind: A}":                                                     true,
		"list: {path: /apis/example.com/v1/as}":                                                           true,
		"get: {path: /api/v1/namespaces/default/pods/a/log}":                                              true,
		"get: {path: /openapi/v2}":                                                                        false,
		"create: {apiVersion: v1, kind: Service, metadata: {name: a}}":                                    false,
		"get: {path: /api/v1/namespaces/default/services/a}":                                              false,
		"create: {apiVersion: v1, kind: Namespace, metadata: {name: a}}":                                  true,
		"delete: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: a}":                  false,
		"delete: {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, name: a}": false,
		"create: {apiVersion: v1, kind: Pod, metadata: {name: a}}\n  to: {path: /api/v1/pods}":            false,
		"create: {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}":                         true,
		"deletecollection: {apiVersion: v1, kind: Pod}":                                                   false,
		"absent: {apiVersion: v1, kind: Pod}":                                                             false,
		"absent: {apiVersion: v1, kind: Pod, name: a}":                                                    true,
	} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(definition+step+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := syntax.Load(file)
		if err != nil {
			t.Errorf("%s: %v", step, err)
			continue
		}
		if got := isIsolated(loaded[0]); got != want {
			t.Errorf("%s: %v", step, got)
		}
	}
}
