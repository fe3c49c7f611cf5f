package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
)

// asProgram sets the user agent of a client, as kube-controller-manager and kube-scheduler have it. The name of the program
// becomes the manager in managedFields.
func asProgram(config *rest.Config, program, part string) *rest.Config {
	config.UserAgent = fmt.Sprintf("%s/v1.37.1 (%s/%s) kubernetes/fakecluster/%s", program, runtime.GOOS, runtime.GOARCH, part)
	config.WarningHandler = rest.NoWarnings{} // by default they are in the log of the process
	return config
}

// sharedInformers is the part of kube-controller-manager whose informers all controllers share.
const sharedInformers = "shared-informers"

// IsSharedInformer reports whether a user agent is that of the informers that all controllers share.
func IsSharedInformer(userAgent string) bool {
	return strings.HasPrefix(userAgent, controllerManager) && strings.HasSuffix(userAgent, "/"+sharedInformers)
}

// Clients makes clients of further programs, which create Events for the same objects.
type Clients struct{ names eventNames }

// NewClients returns what makes clients.
func NewClients() *Clients { return &Clients{} }

// New returns a client of a program, whose user agent also names a part of it.
func (c *Clients) New(config *rest.Config, program, part string) (kubernetes.Interface, error) {
	return newClient(asProgram(config, program, part), &c.names)
}

// newClient returns a client whose Events have unique names.
func newClient(config *rest.Config, names *eventNames) (kubernetes.Interface, error) {
	// In contrast to kubernetes.NewForConfig this does not keep the transport in a cache of the process.
	transport, err := rest.HTTPWrappersForConfig(config, config.Transport)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	c, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client{c, names}, nil
}

// eventNames makes the names of Events unique. A recorder names an Event by its object and the time in nanoseconds; in a
// bubble several Events of an object have the same time, and all but the first would be lost.
type eventNames struct {
	mu   sync.Mutex
	last int64
}

// unique returns a name that differs from all others: with the time of the last Event plus a nanosecond, if that is
// later.
func (n *eventNames) unique(name string) string {
	dot := strings.LastIndexByte(name, '.')
	at, err := strconv.ParseInt(name[dot+1:], 16, 64)
	if dot < 0 || err != nil {
		return name
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = max(n.last+1, at)
	return name[:dot+1] + strconv.FormatInt(n.last, 16)
}

// later returns the name with the time plus a nanosecond.
func later(name string) string {
	dot := strings.LastIndexByte(name, '.')
	at, err := strconv.ParseInt(name[dot+1:], 16, 64)
	if dot < 0 || err != nil {
		return name + ".1"
	}
	return name[:dot+1] + strconv.FormatInt(at+1, 16)
}

type client struct {
	kubernetes.Interface
	names *eventNames
}

func (c client) CoreV1() corev1client.CoreV1Interface {
	return coreClient{c.Interface.CoreV1(), c.names}
}

func (c client) EventsV1() eventsv1client.EventsV1Interface {
	return eventsClient{c.Interface.EventsV1(), c.names}
}

type coreClient struct {
	corev1client.CoreV1Interface
	names *eventNames
}

func (c coreClient) Events(namespace string) corev1client.EventInterface {
	return coreEvents{c.CoreV1Interface.Events(namespace), c.names}
}

type coreEvents struct {
	corev1client.EventInterface
	names *eventNames
}

func (e coreEvents) CreateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	return e.CreateWithEventNamespaceWithContext(context.Background(), event)
}

func (e coreEvents) CreateWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	named := *event
	named.Name = e.names.unique(event.Name)
	created, err := e.EventInterface.CreateWithEventNamespaceWithContext(ctx, &named)
	for apierrors.IsAlreadyExists(err) { // by an Event of another program at the same moment
		named.Name = e.names.unique(later(named.Name))
		created, err = e.EventInterface.CreateWithEventNamespaceWithContext(ctx, &named)
	}
	return created, err
}

type eventsClient struct {
	eventsv1client.EventsV1Interface
	names *eventNames
}

func (c eventsClient) Events(namespace string) eventsv1client.EventInterface {
	return events{c.EventsV1Interface.Events(namespace), c.names}
}

type events struct {
	eventsv1client.EventInterface
	names *eventNames
}

// Create creates an Event. It keeps the name if it can, because the recorder counts repetitions by a patch of that name.
func (e events) Create(ctx context.Context, event *eventsv1.Event, o metav1.CreateOptions) (*eventsv1.Event, error) {
	created, err := e.EventInterface.Create(ctx, event, o)
	named := *event
	for apierrors.IsAlreadyExists(err) { // by an Event of another program at the same moment
		named.Name = e.names.unique(later(named.Name))
		created, err = e.EventInterface.Create(ctx, &named, o)
	}
	return created, err
}
