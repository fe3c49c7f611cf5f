package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/conformance/gotool"
	"github.com/fakecluster/fakecluster/conformance/living/history"
	"github.com/fakecluster/fakecluster/conformance/living/play"
	"github.com/fakecluster/fakecluster/conformance/real/controlplane"
	"github.com/fakecluster/fakecluster/conformance/serve"
)

// build has the programs of real clusters.
type build struct {
	programs string // the folder of Kubernetes' programs
	dir      string // the folder with the agent, which runs nodes
}

// buildReal builds them. config is what the agent runs with.
func buildReal(ctx context.Context, config map[string]any) (*build, error) {
	programs, err := controlplane.ProgramsFolder(ctx, "real/modules")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "living-")
	if err != nil {
		return nil, err
	}
	b := &build{programs, dir}
	text, err := yaml.Marshal(config)
	if err == nil {
		err = os.WriteFile(b.config(), text, 0o600)
	}
	if err == nil {
		// In its own module the agent has the versions of the libraries that fakecluster is released with.
		_, err = gotool.Output(ctx, "..", "build", "-o", b.agent(), "./workloads/internal/agent")
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func (b *build) remove() { os.RemoveAll(b.dir) }

func (b *build) agent() string  { return filepath.Join(b.dir, "agent") }
func (b *build) config() string { return filepath.Join(b.dir, "config.yaml") }

// plane is a real control plane. Its histories have a namespace each, one after the other.
type plane struct {
	*build
	config     *rest.Config
	kubeconfig string
}

// histories counts those that have been played.
var histories atomic.Int64

// withPlane calls a function with a control plane.
func (b *build) withPlane(ctx context.Context, f func(*plane) error) (err error) {
	c, err := controlplane.StartLiving(ctx, b.programs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	p := &plane{build: b, config: c.RESTConfig(), kubeconfig: filepath.Join(b.dir, fmt.Sprintf("kubeconfig-%d", time.Now().UnixNano()))}
	if err := writeKubeconfig(c, p.kubeconfig); err != nil {
		return err
	}
	return f(p)
}

// writeKubeconfig writes the kubeconfig of an administrator.
func writeKubeconfig(c *controlplane.ControlPlane, file string) error {
	content, err := c.Kubeconfig("administrator")
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

// play plays a history with nodes of its own, and removes what it leaves.
func (p *plane) play(ctx context.Context, h history.History) (_ string, err error) {
	namespace := fmt.Sprintf("history-%04d", histories.Add(1))
	agent, end, err := serve.Start(ctx, p.agent(), "-kubeconfig", p.kubeconfig, "-config", p.build.config())
	if err != nil {
		return "", err
	}
	breaks := func(ctx context.Context, node string, how history.Fault) error {
		return breakReal(ctx, agent, node, how)
	}
	defer func() {
		// The Pods of a Node that has failed stay until it resumes, which one that the history has deleted cannot.
		for i := range history.Nodes {
			_ = breaks(ctx, fmt.Sprintf("n%d", i+1), history.ResumeHeartbeats)
		}
		err = errors.Join(err, p.remove(ctx, namespace), end(), p.removeNodes(ctx))
	}()
	return play.Play(ctx, p.config, namespace, h, breaks)
}

// breakReal has the agent at a URL do something to a Node.
func breakReal(ctx context.Context, agent, node string, how history.Fault) error {
	// The certificate is the agent's own.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, agent+"/nodes/"+node+"/"+string(how), nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		return errors.Join(fmt.Errorf("%s of %s: %s", how, node, text), err)
	}
	return nil
}

// remove removes what a history has left, while the nodes still run.
func (p *plane) remove(ctx context.Context, namespace string) error {
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return err
	}
	watched, err := client.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + namespace, TimeoutSeconds: new(int64(120))})
	if err != nil {
		return err
	}
	defer watched.Stop()
	if err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		return nil // the history has deleted it
	}
	everything, options := metav1.ListOptions{}, metav1.DeleteOptions{}
	err = errors.Join(
		client.SchedulingV1().PriorityClasses().DeleteCollection(ctx, options, metav1.ListOptions{FieldSelector: "metadata.name!=system-cluster-critical,metadata.name!=system-node-critical"}),
		client.CoreV1().Events(metav1.NamespaceDefault).DeleteCollection(ctx, options, everything),
	)
	if err != nil {
		return err
	}
	for e := range watched.ResultChan() {
		if e.Type == "DELETED" {
			return errors.Join(
				client.CoreV1().PersistentVolumes().DeleteCollection(ctx, options, everything),
				client.StorageV1().StorageClasses().DeleteCollection(ctx, options, everything),
			)
		}
	}
	return errors.New("the namespace " + namespace + " is not empty after two minutes")
}

// removeNodes removes the Nodes and what has been said about them, once nobody renews them.
func (p *plane) removeNodes(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(p.config)
	if err != nil {
		return err
	}
	everything, options := metav1.ListOptions{}, metav1.DeleteOptions{}
	return errors.Join(
		client.CoreV1().Nodes().DeleteCollection(ctx, options, everything),
		client.CoreV1().Events(metav1.NamespaceDefault).DeleteCollection(ctx, options, everything),
	)
}

// recording is the file with what a real cluster has done.
func recording(h history.History) string {
	return filepath.Join("living", "testdata", strings.ReplaceAll(h.Name, " ", "-")+".txt")
}

func writeRecording(h history.History, real string) error {
	if err := os.MkdirAll(filepath.Dir(recording(h)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(recording(h), []byte(real), 0o644)
}
