package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fakecluster/fakecluster/scenarios"
)

// The scenario of a session plays, although the folders that it began with have patches and
// configurations of kustomize, and objects in another order than installing needs.
func TestASessionWithFoldersOfKubebuilderPlays(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("config/crd/bases/widgets.yaml", widgetDefinition)
	write("config/crd/kustomization.yaml", "resources: [bases/widgets.yaml]\npatches: [{path: patches/webhook_in_widgets.yaml}]\n")
	write("config/crd/kustomizeconfig.yaml", "nameReference:\n- kind: Service\n  fieldSpecs: [{kind: CustomResourceDefinition, group: apiextensions.k8s.io, path: spec/conversion}]\n")
	write("config/crd/patches/webhook_in_widgets.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n")
	write("config/rbac/a_role.yaml", "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, namespace: system}, rules: []}\n")
	write("config/rbac/b_namespace.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: system}}\n")
	write("config/rbac/json_patch.yaml", "- {op: add, path: /metadata/labels, value: {}}\n")
	write("config/default/kustomization.yaml", "namePrefix: operator-\nresources: [account.yaml]\n")
	write("config/default/account.yaml", "{apiVersion: v1, kind: ServiceAccount, metadata: {name: manager, namespace: default}}\n")

	session, kubeconfig := filepath.Join(folder, "test/session.yaml"), filepath.Join(folder, "kubeconfig")
	write("test/readme.txt", "")
	s := serveArgs(t, "--kubeconfig", kubeconfig, "--record", session, "--crds", filepath.Join(folder, "config/crd"),
		"--manifests", filepath.Join(folder, "config/rbac"), "--kustomize", filepath.Join(folder, "config/default"))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(config)
	if _, err := client.CoreV1().ConfigMaps("system").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().ServiceAccounts("default").Get(t.Context(), "operator-manager", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if status := <-s.status; status != 0 {
		t.Fatalf("status %d: %s", status, s.stderr)
	}
	text, err := os.ReadFile(session)
	if err != nil {
		t.Fatal(err)
	}
	want := "setup:\n- {file: ../config/crd/bases/widgets.yaml}\n- {file: ../config/rbac}\n- {file: session-kustomize1.yaml}\nsteps:\n"
	if !strings.Contains(string(text), want) {
		t.Errorf("got %s\nwant in it %s", text, want)
	}
	scenarios.Run(t, session)
}

func TestAKustomizationWithMistakesIsAnError(t *testing.T) {
	var output, errors bytes.Buffer
	status := execute(t.Context(), []string{"serve", "--kustomize", t.TempDir()}, &output, &errors)
	stderr := errors.String()
	if status == 0 || !strings.Contains(stderr, "serve: kustomize ") || !strings.Contains(stderr, "unable to find one of 'kustomization.yaml'") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
