package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/kustomize"
)

// overlay writes an overlay over a base, as kubebuilder scaffolds them, and returns its folder.
func overlay(t *testing.T) string {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"base/kustomization.yaml":    "resources: [service.yaml]\n",
		"base/service.yaml":          "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: system}, spec: {ports: [{port: 80}]}}\n",
		"default/kustomization.yaml": "namespace: operator-system\nnamePrefix: operator-\nresources: [../base, namespace.yaml]\npatches: [{path: patch.yaml, target: {kind: Service}}]\n",
		"default/namespace.yaml":     "{apiVersion: v1, kind: Namespace, metadata: {name: system}}\n",
		"default/patch.yaml":         "- {op: replace, path: /spec/ports/0/port, value: 8080}\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "default")
}

// The objects of package kustomize are options of a cluster. Its tests are here, because this program links kustomize anyway.
func TestAnOverlayIsInstalled(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(kustomize.Objects(t, overlay(t))...))
	service, err := c.Clientset().CoreV1().Services("operator-system").Get(t.Context(), "operator-web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if port := service.Spec.Ports[0].Port; port != 8080 {
		t.Errorf("the port is %d", port)
	}
}

func TestAFolderWithoutKustomizationIsAnError(t *testing.T) {
	folder := t.TempDir()
	_, err := kustomize.Build(folder)
	if err == nil || !strings.HasPrefix(err.Error(), "kustomize "+folder+": unable to find one of 'kustomization.yaml'") {
		t.Error(err)
	}
}
