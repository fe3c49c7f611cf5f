package living

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Behavior describes what some containers do. The fields from Image to Labels select the containers: all of
// them that are set have to match, and without any of them the behavior applies to every container. If
// several behaviors match a container, the first one applies.
//
// In YAML and JSON, durations are strings such as "1m30s".
type Behavior struct {
	// Image selects by image: "nginx:1.27", without a tag "nginx" for all of its tags, or a pattern of path.Match
	// such as "ghcr.io/acme/*".
	Image string `json:"image,omitempty"`
	// Namespace selects by the namespace of the pod.
	Namespace string `json:"namespace,omitempty"`
	// Name selects by the name of the pod. It may be a pattern of path.Match, such as "web-*".
	Name string `json:"name,omitempty"`
	// Container selects by the name of the container. It may be a pattern of path.Match.
	Container string `json:"container,omitempty"`
	// Owner selects by the object that owns the pod, as "Kind/name", such as "StatefulSet/db" or "Job/*". Pods of a
	// Deployment match "Deployment/NAME" although a ReplicaSet owns them, and those of a CronJob "CronJob/NAME".
	Owner string `json:"owner,omitempty"`
	// Service selects by the name of a Service that selects the pod and exists when the container starts. It
	// may be a pattern of path.Match.
	Service string `json:"service,omitempty"`
	// Labels selects by labels of the pod, all of which must match.
	Labels map[string]string `json:"labels,omitempty"`

	// PullDelay is how long the pull of the image takes. Default: 100 to 300 milliseconds. An image that is
	// on the node is not pulled again, unless the pull policy is Always.
	PullDelay time.Duration `json:"-"`
	// PullError fails each pull with this text: the container waits with ErrImagePull and ImagePullBackOff.
	PullError string `json:"pullError,omitempty"`
	// StartDelay is how long it takes to create and start the container. Default: 50 to 150 milliseconds.
	StartDelay time.Duration `json:"-"`
	// StartError fails each start with this text: the container ends with exit code 128 and the reason StartError, and waits with
	// RunContainerError for its next start.
	StartError string `json:"startError,omitempty"`
	// ReadyDelay is the time from the start of the container until its startup and readiness probes pass.
	// Without such probes it delays readiness, too.
	ReadyDelay time.Duration `json:"-"`
	// NeverReady makes readiness probes fail. The container never becomes ready, even without a probe.
	NeverReady bool `json:"neverReady,omitempty"`
	// UnhealthyAfter is the time from the start of the container after which liveness probes fail. Default: never.
	UnhealthyAfter time.Duration `json:"-"`
	// Jitter varies PullDelay, StartDelay, ReadyDelay, RunTime and UnhealthyAfter by up to this share of them, in both
	// directions: with 0.2, one second is between 0.8 and 1.2 seconds. It must be from 0 to 1.
	Jitter float64 `json:"jitter,omitempty"`

	// RunTime is the time from the start of the container until it exits. Default: a container exits if ExitCode or
	// OOMKilled is set, if its command is known and ends, or if the restart policy of the pod
	// is Never or OnFailure. Otherwise it runs until the pod is deleted.
	RunTime time.Duration `json:"-"`
	// ExitCode is the exit code after RunTime. Default: that of the command, or 0.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// OOMKilled ends the container after RunTime with exit code 137 and the reason OOMKilled.
	OOMKilled bool `json:"oomKilled,omitempty"`
	// Failures limits how often the container fails by ExitCode, OOMKilled or UnhealthyAfter. After that many
	// restarts it is healthy. Default: no limit.
	Failures int `json:"failures,omitempty"`
	// Message is the termination message.
	Message string `json:"message,omitempty"`
	// Log is what the container writes to its standard output at each start. With the policy FallbackToLogsOnError, its
	// end is the termination message of a container that fails, unless Message is set.
	Log string `json:"log,omitempty"`
	// Forever keeps the container running although its command or restart policy would end it.
	Forever bool `json:"forever,omitempty"`

	// TerminationDelay is the time from SIGTERM until the container exits. If it is longer than the grace
	// period, the container is killed and exits with 137. Default: 10 to 50 milliseconds, so that controllers
	// see the end of the pod before another pod of its name exists.
	TerminationDelay time.Duration `json:"-"`
	// TerminationExitCode is the exit code after SIGTERM. Default: 0 for a container that runs until its pod is deleted, and 143 for one that
	// runs to completion, which the signal ends. Known commands, such as sleep, do not handle the signal as the first process of
	// a container: unless TerminationExitCode or TerminationDelay is set, or the pod shares its process namespace, they run on until
	// they are killed after the grace period, with 137.
	TerminationExitCode *int32 `json:"terminationExitCode,omitempty"`

	// Admission "allow" is for a container that should serve admission webhooks and runs no program. While
	// its pod is ready, the webhooks whose Service selects the pod allow each request without a change. A pod
	// that listens on the port is called instead. Default: a call fails with "connection refused".
	Admission string `json:"admission,omitempty"`

	// Usage is the cpu and memory that the container uses while it runs, as metrics.k8s.io reports them. The
	// first behavior that matches the pod at the time of a request applies, so a change of the pod's labels
	// may change its usage. Default: 0.
	Usage corev1.ResourceList `json:"usage,omitempty"`
}

// AllowAdmission is the value of the field Admission.
const AllowAdmission = "allow"

// behaviorData is a Behavior in JSON. Its durations, as strings, hide those of the embedded value.
type behaviorData struct {
	*plainBehavior
	PullDelay        *metav1.Duration `json:"pullDelay,omitempty"`
	StartDelay       *metav1.Duration `json:"startDelay,omitempty"`
	ReadyDelay       *metav1.Duration `json:"readyDelay,omitempty"`
	UnhealthyAfter   *metav1.Duration `json:"unhealthyAfter,omitempty"`
	RunTime          *metav1.Duration `json:"runTime,omitempty"`
	TerminationDelay *metav1.Duration `json:"terminationDelay,omitempty"`
}

type plainBehavior Behavior

func (b *Behavior) durations(d *behaviorData) map[*time.Duration]**metav1.Duration {
	return map[*time.Duration]**metav1.Duration{
		&b.PullDelay:        &d.PullDelay,
		&b.StartDelay:       &d.StartDelay,
		&b.ReadyDelay:       &d.ReadyDelay,
		&b.UnhealthyAfter:   &d.UnhealthyAfter,
		&b.RunTime:          &d.RunTime,
		&b.TerminationDelay: &d.TerminationDelay,
	}
}

// MarshalJSON writes durations as strings.
func (b Behavior) MarshalJSON() ([]byte, error) {
	d := behaviorData{plainBehavior: (*plainBehavior)(&b)}
	for value, data := range b.durations(&d) {
		if *value != 0 {
			*data = &metav1.Duration{Duration: *value}
		}
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads durations from strings. Unknown fields are an error.
func (b *Behavior) UnmarshalJSON(data []byte) error {
	d := behaviorData{plainBehavior: (*plainBehavior)(b)}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return err
	}
	for value, data := range b.durations(&d) {
		if *data != nil {
			*value = (*data).Duration
		}
	}
	return nil
}

// String describes the selection of the behavior.
func (b Behavior) String() string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"image", b.Image}, {"namespace", b.Namespace}, {"name", b.Name}, {"container", b.Container}, {"owner", b.Owner}, {"service", b.Service},
	} {
		if part.value != "" {
			parts = append(parts, part.name+" "+part.value)
		}
	}
	if len(b.Labels) > 0 {
		parts = append(parts, "labels "+metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: b.Labels}))
	}
	if len(parts) == 0 {
		return "every container"
	}
	return strings.Join(parts, ", ")
}

// Validate returns an error that names the first wrong field, or nil.
func (b *Behavior) Validate() error {
	for _, pattern := range []struct{ field, value string }{
		{"Image", b.Image}, {"Name", b.Name}, {"Container", b.Container}, {"Owner", b.Owner}, {"Service", b.Service},
	} {
		if _, err := path.Match(pattern.value, ""); err != nil {
			return fmt.Errorf("%s %q is not a pattern of path.Match: %w", pattern.field, pattern.value, err)
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"PullDelay", b.PullDelay}, {"StartDelay", b.StartDelay}, {"ReadyDelay", b.ReadyDelay}, {"RunTime", b.RunTime},
		{"UnhealthyAfter", b.UnhealthyAfter}, {"TerminationDelay", b.TerminationDelay},
	} {
		if d.value < 0 {
			return fmt.Errorf("the field %s is %s; it must not be negative", d.field, d.value)
		}
	}
	switch {
	case b.Owner != "" && strings.Count(b.Owner, "/") != 1:
		return fmt.Errorf(`the field Owner is %q; write "Kind/name", such as "Deployment/web"`, b.Owner)
	case b.Admission != "" && b.Admission != AllowAdmission:
		return fmt.Errorf("the field Admission is %q; write %q, or leave it out", b.Admission, AllowAdmission)
	case b.Jitter < 0 || b.Jitter > 1:
		return fmt.Errorf("the field Jitter is %v; it must be between 0 and 1", b.Jitter)
	case b.Failures < 0:
		return fmt.Errorf("the field Failures is %d; it must not be negative", b.Failures)
	case b.Failures > 0 && !b.fails():
		return errors.New("the field Failures limits failures: set ExitCode, OOMKilled or UnhealthyAfter, too")
	case b.Forever && (b.RunTime > 0 || b.ExitCode != nil || b.OOMKilled):
		return errors.New("the field Forever excludes RunTime, ExitCode and OOMKilled; leave one of them out")
	case b.ExitCode != nil && (*b.ExitCode < 0 || *b.ExitCode > 255):
		return fmt.Errorf("the field ExitCode is %d; it must be between 0 and 255", *b.ExitCode)
	case b.TerminationExitCode != nil && (*b.TerminationExitCode < 0 || *b.TerminationExitCode > 255):
		return fmt.Errorf("the field TerminationExitCode is %d; it must be between 0 and 255", *b.TerminationExitCode)
	case b.ExitCode != nil && b.OOMKilled:
		return errors.New("the field OOMKilled means exit code 137; leave ExitCode out")
	case b.NeverReady && b.ReadyDelay > 0:
		return errors.New("the fields NeverReady and ReadyDelay exclude each other; leave one of them out")
	}
	return nil
}

// Decides reports whether the behavior determines what a container does after its start, so that its command
// is not run.
func (b *Behavior) Decides() bool {
	return b.ReadyDelay > 0 || b.NeverReady || b.UnhealthyAfter > 0 || b.RunTime > 0 || b.ExitCode != nil || b.OOMKilled || b.Message != "" || b.Log != "" ||
		b.Forever || b.TerminationDelay > 0 || b.TerminationExitCode != nil
}

func (b *Behavior) fails() bool {
	return b.OOMKilled || b.UnhealthyAfter > 0 || ptr.Deref(b.ExitCode, 0) != 0
}

// Matches reports whether the behavior applies to the container. services returns the names of the Services that select the pod.
func (b *Behavior) Matches(pod *corev1.Pod, container *corev1.Container, services func(*corev1.Pod) []string) bool {
	if !MatchesImage(b.Image, container.Image) ||
		b.Namespace != "" && b.Namespace != pod.Namespace ||
		!matchesPattern(b.Name, pod.Name) ||
		!matchesPattern(b.Container, container.Name) ||
		b.Owner != "" && !ownedBy(pod, b.Owner) {
		return false
	}
	for key, value := range b.Labels {
		if have, ok := pod.Labels[key]; !ok || have != value {
			return false
		}
	}
	return b.Service == "" || slices.ContainsFunc(services(pod), func(name string) bool { return matchesPattern(b.Service, name) })
}

func matchesPattern(pattern, value string) bool {
	if pattern == "" {
		return true
	}
	ok, _ := path.Match(pattern, value)
	return ok
}

// MatchesImage reports whether an image matches a pattern of path.Match, with or without its tag. The empty
// pattern matches every image.
func MatchesImage(pattern, image string) bool {
	return matchesPattern(pattern, image) || matchesPattern(pattern, Repository(image))
}

// Repository returns an image without tag and digest.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// ownedBy reports whether the pod has the owner, as "Kind/name". The name of a Deployment or CronJob is that
// of the pod's ReplicaSet or Job without its suffix.
func ownedBy(pod *corev1.Pod, owner string) bool {
	kind, name, _ := strings.Cut(owner, "/")
	between := map[string]string{"Deployment": "ReplicaSet", "CronJob": "Job"}[kind]
	for _, ref := range pod.OwnerReferences {
		if ref.Kind == kind && matchesPattern(name, ref.Name) {
			return true
		}
		if i := strings.LastIndexByte(ref.Name, '-'); ref.Kind == between && i > 0 && matchesPattern(name, ref.Name[:i]) {
			return true
		}
	}
	return false
}
