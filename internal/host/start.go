package host

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/kustomize"
	"github.com/fakecluster/fakecluster/workloads"
)

// Start is the request for a new cluster.
type Start struct {
	Session           string `json:"session" doc:"the session in which the cluster lives; POST /v1/sessions opens one"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty" doc:"the version of Kubernetes that the cluster behaves as, such as 1.35; default: that of the host"`

	// Cluster has absolute paths only, because the host runs in another folder.
	description.Cluster

	Objects     []json.RawMessage `json:"objects,omitempty" schema:"object" doc:"objects to create, with their status; the kind may be a type of Go, such as k8s.io/api/apps/v1.Deployment (WithObjects)"`
	Services    []Service         `json:"services,omitempty" doc:"Services that the client answers, by references of webhooks and APIServices (WithService)"`
	Conversions []Conversion      `json:"conversions,omitempty" doc:"handlers of ConversionReviews for definitions (WithConversion)"`
	Images      []Image           `json:"images,omitempty" doc:"images whose containers run as functions in the process of the client, if workloads run"`
	Living
}

// options returns the options of package fakecluster that are data.
func (s Start) options() ([]fakecluster.Option, error) {
	if err := absolute(s.Paths()...); err != nil {
		return nil, err
	}
	options, err := s.Cluster.Options(kustomize.Build)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for i, text := range s.Objects {
		u, err := readObject(text, kindOf)
		if err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", i, err)
		}
		objects = append(objects, u)
	}
	return append(options, fakecluster.WithObjects(objects...)), nil
}

// absolute returns an error for a path that is not absolute.
func absolute(paths ...string) error {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return refuse(http.StatusBadRequest, "the path %q is relative: give an absolute one, because the host runs in another folder", path)
		}
	}
	return nil
}

func startCluster(c call, s Start) (Cluster, error) {
	if err := c.host.hasSession(s.Session); err != nil {
		return Cluster{}, err
	}
	if other, err := isOther(s.KubernetesVersion); err != nil {
		return Cluster{}, err
	} else if other {
		return c.host.startElsewhere(c, s)
	}
	options, err := s.options()
	if err != nil {
		return Cluster{}, wrong(err)
	}
	functions, err := s.functions(c.host)
	if err != nil {
		return Cluster{}, wrong(err)
	}
	options = append(options, functions...)
	d := driverOf(c)
	if d != nil {
		options = append(options, fakecluster.InProcess())
	}
	started, err := fakecluster.New(options...)
	if err != nil {
		return Cluster{}, wrong(err)
	}
	n := newCluster(c.host, started).inBubble(d)
	n.services, n.images = s.Services, s.Images
	if len(s.Workloads) > 0 {
		if err := n.live(s.Living); err != nil {
			n.end()
			return Cluster{}, err
		}
	}
	return c.host.take(s.Session, n)
}

// Living is what lives in a cluster.
type Living struct {
	Workloads json.RawMessage  `json:"workloads,omitempty" schema:"object,string" doc:"runs Kubernetes' controllers, scheduler and nodes: an object with any of nodes, controlPlane, behaviors, programs, provisioners, controllers, scheduler, as in docs/workloads.md, or a string with such an object in YAML"`
	Programs  []living.Program `json:"programs,omitempty" doc:"programs that run containers, in addition to those of workloads"`
	Folder    string           `json:"folder,omitempty" doc:"the folder of relative paths of programs; default: they must be absolute, because the host runs in another folder"`
}

// config returns the configuration of the workloads in JSON, with absolute paths.
func (l Living) config() ([]byte, error) {
	text := []byte(l.Workloads)
	var inYAML string
	if json.Unmarshal(text, &inYAML) == nil {
		text = []byte(inYAML)
	}
	c, err := living.ReadFile("workloads", text)
	if err != nil {
		return nil, wrong(err)
	}
	c.Programs = append(c.Programs, l.Programs...)
	if l.Folder != "" {
		if err := c.Resolve(filepath.Join(l.Folder, "workloads")); err != nil {
			return nil, err
		}
	}
	for _, p := range c.Programs {
		if p.IsRelative() {
			return nil, absolute(p.Path)
		}
	}
	return json.Marshal(c)
}

// live starts what lives in the cluster. It holds no lock meanwhile, because that takes time.
func (c *cluster) live(l Living) error {
	config, err := l.config()
	if err != nil {
		return err
	}
	images, err := c.imageOptions()
	if err != nil {
		return wrong(err)
	}
	started, err := c.beginLife()
	if err != nil {
		return err
	}
	life, err := workloads.New(c.Cluster, append(images, workloads.ConfigYAML(config))...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = nil
	close(started)
	if err != nil {
		return wrong(err)
	}
	c.workloads = life
	return nil
}

// beginLife returns a channel to close when workloads have started or failed. The end of the cluster ends the start, and waits for that.
func (c *cluster) beginLife() (started chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended != nil:
		return nil, refuse(http.StatusConflict, "the cluster ends")
	case c.workloads != nil, c.starting != nil:
		return nil, refuse(http.StatusConflict, "workloads already run in the cluster: end them first")
	}
	c.starting = make(chan struct{})
	return c.starting, nil
}

func startWorkloads(c call, l Living) (none, error) { return none{}, c.cluster.live(l) }

func endWorkloads(c call, _ none) (Ended, error) {
	c.cluster.mu.Lock()
	life := c.cluster.workloads
	c.cluster.workloads = nil
	c.cluster.mu.Unlock()
	if life == nil {
		return Ended{}, errNothingLives
	}
	ended := Ended{Errors: []string{}}
	for _, err := range parts(life.Close()) {
		ended.Errors = append(ended.Errors, err.Error())
	}
	return ended, nil
}

var errNothingLives = refuse(http.StatusConflict, "nothing lives in the cluster: start it with workloads, as remote.Workloads(\"nodes: 1\") does, or POST to its workloads, as RunWorkloads does")
