package cri

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/workloads/internal/files"
	"github.com/fakecluster/fakecluster/workloads/internal/image"
	"github.com/fakecluster/fakecluster/workloads/internal/shell"
)

// Behavior simulates the programs of some containers.
type Behavior = living.Behavior

// ImageFiles are the files of an image.
type ImageFiles struct {
	Image string // a pattern
	Files *files.Tree
}

// Config configures New. With the zero value all containers follow their command lines.
type Config struct {
	// Behaviors are the behaviors of containers. The first one that matches a container applies to it.
	Behaviors []Behavior
	// Runtimes start containers. The first one that has the image does. Default: none.
	Runtimes []Runtime
	// BuiltIn starts containers of built-in images, unless a runtime has the image or a behavior applies; nil: there are
	// no built-in images.
	BuiltIn Runtime
	// Script starts containers whose command the built-in shell knows, unless a runtime has the image or a behavior
	// applies; nil: they follow their command lines.
	Script func(Container) Process
	// Notice gets sentences for the user about images whose program is not run; nil: they are dropped.
	Notice func(string)
	// Files are the files of images. The first pattern that matches applies.
	Files []ImageFiles
	// OnlyKnownImages: the pull of an image fails that neither a runtime nor Files have and no behavior names.
	OnlyKnownImages bool
	// Report is called once for each image that OnlyKnownImages rejects; nil: it is not called. It may be called
	// concurrently.
	Report func(error)
	// Services has the Services, for behaviors that select by Service; nil: there are none.
	Services corelisters.ServiceLister
	// Seed determines all random delays.
	Seed uint64
}

// Programs decides which programs run in the containers of a living cluster, and starts them. Its methods are safe for
// concurrent use.
type Programs struct {
	config    Config
	behaviors *behaviors

	mu       sync.Mutex
	reported map[string]bool // unknown images
	noticed  map[string]bool // images whose program is not run
}

// New returns the programs of a cluster, or an error with all invalid behaviors.
func New(config Config) (*Programs, error) {
	p := &Programs{config: config, reported: map[string]bool{}, noticed: map[string]bool{}}
	var err error
	p.behaviors, err = newBehaviors(config.Behaviors, p.servicesOf)
	return p, err
}

// Unmatched returns the behaviors that have not applied to any container.
func (p *Programs) Unmatched() []Behavior {
	return p.behaviors.unmatched()
}

// Behavior returns the behavior that applies to a container; nil: none does.
func (p *Programs) Behavior(pod *corev1.Pod, spec *corev1.Container) *Behavior {
	return p.behaviors.behaviorOf(pod, spec)
}

// Start starts the process of a container.
func (p *Programs) Start(c Container) Process {
	for _, r := range p.config.Runtimes {
		if r.Has(c.Spec.Image) {
			return r.Start(c)
		}
	}
	if p.isBuiltIn(c.Pod, c.Spec) {
		return p.config.BuiltIn.Start(c)
	}
	if c.Files != nil && p.runsScript(c.Pod, c.Spec, c.Files.ReadFile) {
		return p.config.Script(c)
	}
	return startSimulated(p.Plan(c.Pod, c.Spec, c.Kind, c.Attempt), c)
}

// Plan returns the plan of a start of a container.
func (p *Programs) Plan(pod *corev1.Pod, spec *corev1.Container, kind ContainerKind, attempt int) Plan {
	b := p.behaviors.behaviorOf(pod, spec)
	made := planFor(p.config.Seed, b, pod, spec, kind, attempt)
	if p.config.OnlyKnownImages && b == nil && !p.HasFunction(spec) && !p.isBuiltIn(pod, spec) && p.imageFiles(spec.Image) == nil {
		name := image.Name(spec.Image)
		made.PullError = fmt.Sprintf("rpc error: code = NotFound desc = failed to pull and unpack image %q: failed to resolve reference %q: %s: not found", name, name, name)
		p.unknown(pod, spec)
	}
	return made
}

// NotRun returns a sentence for the user about a started container if the program of its image is not run and the
// container is to complete. It returns "" otherwise, and after the first time for an image.
func (p *Programs) NotRun(pod *corev1.Pod, spec *corev1.Container, kind ContainerKind, started Process) string {
	completes := kind == Init || kind == Main && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	_, isSimulated := started.(*simulated)
	if b := p.behaviors.behaviorOf(pod, spec); !completes || p.config.Notice == nil || pauses(spec) || !isSimulated || b != nil && b.Decides() {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noticed[spec.Image] {
		return ""
	}
	p.noticed[spec.Image] = true
	return fmt.Sprintf("the program of the image %s is not run: the container completes with exit code 0. Give it a function, a program of this machine or a behavior", spec.Image)
}

// Notice passes a sentence to the user.
func (p *Programs) Notice(sentence string) {
	if p.config.Notice != nil {
		p.config.Notice(sentence)
	}
}

// unknown reports an image without a function or behavior, once.
func (p *Programs) unknown(pod *corev1.Pod, spec *corev1.Container) {
	p.mu.Lock()
	first := !p.reported[spec.Image]
	p.reported[spec.Image] = true
	p.mu.Unlock()
	if first && p.config.Report != nil {
		subject := "container " + spec.Name
		if spec.Name == "" {
			subject = "a volume"
		}
		p.config.Report(fmt.Errorf("OnlyKnownImages: %s of pod %s/%s has the unknown image %s: give it an Image or a Behavior",
			subject, pod.Namespace, pod.Name, spec.Image))
	}
}

// HasCode reports whether a container runs code: its image has a function or a program, or its command is known.
func (p *Programs) HasCode(pod *corev1.Pod, spec *corev1.Container) bool {
	return p.HasFunction(spec) || p.isBuiltIn(pod, spec) || p.runsScript(pod, spec, unmounted(pod, spec, p.imageFiles(spec.Image) != nil))
}

// runsScript reports whether the built-in shell runs the command of a container whose image has no function. read returns the files of the container.
func (p *Programs) runsScript(pod *corev1.Pod, spec *corev1.Container, read func(string) ([]byte, error)) bool {
	if p.config.Script == nil || pauses(spec) || !shell.Knows(slices.Concat(image.Command(spec), spec.Args), read) {
		return false
	}
	return !p.isDecided(pod, spec)
}

// isBuiltIn reports whether a container has the function of a built-in image.
func (p *Programs) isBuiltIn(pod *corev1.Pod, spec *corev1.Container) bool {
	return p.config.BuiltIn != nil && p.config.BuiltIn.Has(spec.Image) && !p.isDecided(pod, spec)
}

// isDecided reports whether a behavior determines the program of a container.
func (p *Programs) isDecided(pod *corev1.Pod, spec *corev1.Container) bool {
	b := p.behaviors.behaviorOf(pod, spec)
	return b != nil && b.Decides()
}

// AllowsAdmission reports whether, by a behavior, the webhooks that a pod should serve allow everything.
func (p *Programs) AllowsAdmission(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(spec corev1.Container) bool {
		b := p.behaviors.behaviorOf(pod, &spec)
		return b != nil && b.Admission == living.AllowAdmission
	})
}

// RunsProgram reports whether a container of a pod runs code.
func (p *Programs) RunsProgram(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(spec corev1.Container) bool { return p.HasCode(pod, &spec) })
}

// servicesOf returns the names of the Services that select a pod.
func (p *Programs) servicesOf(pod *corev1.Pod) []string {
	if p.config.Services == nil {
		return nil
	}
	services, _ := p.config.Services.Services(pod.Namespace).List(labels.Everything()) // a lister returns no error
	var names []string
	for _, s := range services {
		if len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			names = append(names, s.Name)
		}
	}
	return names
}

// unmounted returns the files of a container whose volumes are not mounted yet. It assumes that every file of a volume
// that may have scripts, or of an image with files, is a known script. The start of the container checks it.
func unmounted(pod *corev1.Pod, spec *corev1.Container, hasImage bool) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		for _, m := range spec.VolumeMounts {
			if name != m.MountPath && !strings.HasPrefix(name, strings.TrimSuffix(m.MountPath, "/")+"/") {
				continue
			}
			for _, v := range pod.Spec.Volumes {
				if v.Name == m.Name && (v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.EmptyDir != nil || v.DownwardAPI != nil) {
					return nil, nil
				}
			}
		}
		if hasImage || slices.Contains([]string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}, name) {
			return nil, nil
		}
		return nil, fs.ErrNotExist
	}
}

// HasFunction reports whether a runtime has the image of a container.
func (p *Programs) HasFunction(spec *corev1.Container) bool {
	return slices.ContainsFunc(p.config.Runtimes, func(r Runtime) bool { return r.Has(spec.Image) })
}

// imageFiles returns the files of an image; nil: it has none.
func (p *Programs) imageFiles(image string) *files.Tree {
	for _, f := range p.config.Files {
		if living.MatchesImage(f.Image, image) {
			return f.Files
		}
	}
	return nil
}

// FilesOf returns a tree with the files of an image, which belongs to the caller.
func (p *Programs) FilesOf(image string) *files.Tree {
	if tree := p.imageFiles(image); tree != nil {
		return tree.Clone()
	}
	return files.NewTree()
}

// Usage returns the use of resources by the running containers of a pod, by their names. A container without a behavior
// uses nothing.
func (p *Programs) Usage(pod *corev1.Pod) map[string]corev1.ResourceList {
	usage := map[string]corev1.ResourceList{}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Running == nil {
				continue
			}
			for _, specs := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
				for j := range specs {
					if specs[j].Name == statuses[i].Name {
						usage[specs[j].Name] = ptr.Deref(p.behaviors.behaviorOf(pod, &specs[j]), Behavior{}).Usage
					}
				}
			}
		}
	}
	return usage
}
