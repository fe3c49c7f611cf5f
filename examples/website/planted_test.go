package website_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fakecluster/fakecluster/controllerruntime"
	"github.com/fakecluster/fakecluster/examples/website"
	"github.com/fakecluster/fakecluster/explore"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// bug is a mistake that is planted into the operator, of the kinds that Acto, Sieve and issue trackers report.
type bug struct {
	name   string
	oracle explore.Oracle // that finds it
	// What the mistake is: before and after the Reconcile of the operator, or in its client.
	before func(ctx context.Context, p *planted, site *website.Website) (skip bool, err error)
	after  func(ctx context.Context, p *planted, site *website.Website) error
	client func(client.Client) client.Client
	// unwatched is a controller that does not watch its children.
	unwatched bool
	// definition changes the text of the CustomResourceDefinition; nil: it is that of the operator.
	definition func(text string) string
	// requeue is when each Website is looked at again; 0: as the operator does.
	requeue time.Duration
	// trials is how many trials there are; 0: 300.
	trials int
	// restricted runs the operator under its role. The other mistakes need other rights, which hides nothing.
	restricted bool
}

var bugs = []bug{
	{name: "a Deployment is created and never updated", oracle: explore.PathIndependent, client: func(c client.Client) client.Client {
		return applying{c, func(ctx context.Context, obj runtime.ApplyConfiguration) bool {
			d, ok := obj.(*appsv1ac.DeploymentApplyConfiguration)
			return !ok || c.Get(ctx, client.ObjectKey{Namespace: *d.Namespace, Name: *d.Name}, &appsv1.Deployment{}) != nil
		}}
	}},
	{name: "a Deployment is never scaled down", oracle: explore.PathIndependent, client: func(c client.Client) client.Client {
		return applying{c, func(ctx context.Context, obj runtime.ApplyConfiguration) bool {
			d, ok := obj.(*appsv1ac.DeploymentApplyConfiguration)
			present := &appsv1.Deployment{}
			if ok && c.Get(ctx, client.ObjectKey{Namespace: *d.Namespace, Name: *d.Name}, present) == nil && *present.Spec.Replicas > *d.Spec.Replicas {
				d.Spec.WithReplicas(*present.Spec.Replicas)
			}
			return true
		}}
	}},
	{name: "labels are copied to the Service and never removed", oracle: explore.PathIndependent, after: func(ctx context.Context, p *planted, site *website.Website) error {
		service := named(&corev1.Service{})
		if len(site.Labels) == 0 || p.Get(ctx, client.ObjectKeyFromObject(service), service) != nil {
			return nil
		}
		before := service.DeepCopy()
		service.Labels = site.Labels
		return p.Patch(ctx, service, client.MergeFrom(before))
	}},
	{name: "lost children do not come back", oracle: explore.Recovers, unwatched: true},
	{name: "changes by others are only looked for if the spec has changed", oracle: explore.Recovers, before: func(_ context.Context, p *planted, site *website.Website) (bool, error) {
		if p.done[site.UID] == site.Generation && site.DeletionTimestamp.IsZero() {
			return true, nil
		}
		p.done[site.UID] = site.Generation
		return false, nil
	}},
	{name: "the status is written once", oracle: explore.TruthfulStatus, client: func(c client.Client) client.Client {
		return reporting{c, func(before, _ *website.Website) bool { return len(before.Status.Conditions) == 0 }}
	}},
	{name: "Available is never taken back", oracle: explore.Recovers, client: func(c client.Client) client.Client {
		return reporting{c, func(before, site *website.Website) bool {
			if meta.IsStatusConditionTrue(before.Status.Conditions, website.Available) {
				meta.FindStatusCondition(site.Status.Conditions, website.Available).Status = metav1.ConditionTrue
			}
			return true
		}}
	}},
	{name: "the finalizer waits for what only the garbage collector deletes", oracle: explore.CleansUp, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		deployment := &appsv1.Deployment{}
		err := p.Get(ctx, client.ObjectKeyFromObject(site), deployment)
		return !site.DeletionTimestamp.IsZero() && err == nil, nil
	}},
	{name: "the ConfigMap has no owner", oracle: explore.CleansUp, client: func(c client.Client) client.Client {
		return applying{c, func(_ context.Context, obj runtime.ApplyConfiguration) bool {
			if m, ok := obj.(*corev1ac.ConfigMapApplyConfiguration); ok {
				m.OwnerReferences = nil
			}
			return true
		}}
	}},
	{name: "a delete takes all Deployments of the namespace", oracle: explore.CleansUp, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if site.DeletionTimestamp.IsZero() {
			return false, nil
		}
		return false, p.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(site.Namespace))
	}},
	{name: "each reconcile counts in an annotation", oracle: explore.Converges, after: func(ctx context.Context, p *planted, site *website.Website) error {
		n, _ := strconv.Atoi(site.Annotations["example.com/reconciled"])
		return p.annotate(ctx, site, "example.com/reconciled", strconv.Itoa(n+1))
	}},
	{name: "an image without a tag panics", oracle: explore.NoPanic, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		return false, p.annotate(ctx, site, "example.com/tag", strings.Split(site.Spec.Image, ":")[1])
	}},
	{name: "an empty page needs a right that the role does not have", oracle: explore.Permitted, restricted: true, after: func(ctx context.Context, p *planted, site *website.Website) error {
		if site.Spec.Page != "" {
			return nil
		}
		return client.IgnoreNotFound(p.Delete(ctx, named(&corev1.ConfigMap{})))
	}},
	{name: "each Website leaves a goroutine behind", oracle: explore.NoLeak, before: func(context.Context, *planted, *website.Website) (bool, error) {
		go func() { <-make(chan struct{}) }()
		return false, nil
	}},
	{name: "each start is noted on the Website", oracle: explore.IdempotentStart, after: func(ctx context.Context, p *planted, site *website.Website) error {
		if p.done[site.UID] > 0 {
			return nil
		}
		p.done[site.UID] = 1
		return p.annotate(ctx, site, "example.com/started", p.started)
	}},
	{name: "a crash between the Secret and its note makes another Secret", oracle: explore.Recovers, after: func(ctx context.Context, p *planted, site *website.Website) error {
		if site.Annotations["example.com/token"] != "" || !site.DeletionTimestamp.IsZero() {
			return nil
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, GenerateName: site.Name + "-"}}
		if err := errors.Join(controllerutil.SetControllerReference(site, secret, scheme), p.Create(ctx, secret)); err != nil {
			return err
		}
		return p.annotate(ctx, site, "example.com/token", "made")
	}},
	{name: "a field of the status is not in the schema", oracle: explore.CleanWrites, after: func(ctx context.Context, p *planted, site *website.Website) error {
		return client.IgnoreNotFound(p.Status().Patch(ctx, site, client.RawPatch(types.MergePatchType, []byte(`{"status":{"visitors":1}}`))))
	}},
	{name: "a long host is not a label, and nobody hears of it", oracle: explore.TruthfulStatus, after: func(ctx context.Context, p *planted, site *website.Website) error {
		service := named(&corev1.Service{})
		if err := p.reader.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := service.DeepCopy()
		metav1.SetMetaDataLabel(&service.ObjectMeta, "example.com/host", site.Spec.Host)
		return p.Patch(ctx, service, client.MergeFrom(before))
	}},
	{name: "a long name with a prefix is not a label, and nobody hears of it", oracle: explore.TruthfulStatus, after: func(ctx context.Context, p *planted, site *website.Website) error {
		service := &corev1.Service{}
		if err := p.reader.Get(ctx, client.ObjectKeyFromObject(site), service); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := service.DeepCopy()
		metav1.SetMetaDataLabel(&service.ObjectMeta, "example.com/site", "website-"+site.Name)
		return p.Patch(ctx, service, client.MergeFrom(before))
	}},
	{name: "the host is registered before the finalizer is stored", oracle: explore.Recovers, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if !site.DeletionTimestamp.IsZero() || controllerutil.ContainsFinalizer(site, website.Finalizer) {
			return false, nil
		}
		return false, p.Registry.Register(ctx, site.Spec.Host, "pending", string(site.UID))
	}},
	{name: "a ConfigMap without owner is made before the finalizer is stored", oracle: explore.CleansUp, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		notes := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name + "-notes"}}
		if !site.DeletionTimestamp.IsZero() {
			return false, client.IgnoreNotFound(p.Delete(ctx, notes))
		}
		if controllerutil.ContainsFinalizer(site, website.Finalizer) {
			return false, nil
		}
		return false, client.IgnoreAlreadyExists(p.Create(ctx, notes))
	}},
	{name: "a stale patch overwrites the spec", oracle: explore.Recovers, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if site.Annotations["example.com/seen"] != "" {
			return false, nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"example.com/seen": "true"}}, "spec": site.Spec})
		return true, errors.Join(err, client.IgnoreNotFound(p.Patch(ctx, site, client.RawPatch(types.MergePatchType, patch))))
	}},
	{name: "the finalizer needs the Service", oracle: explore.CleansUp, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if site.DeletionTimestamp.IsZero() {
			return false, nil
		}
		return false, p.reader.Get(ctx, client.ObjectKeyFromObject(site), &corev1.Service{})
	}},
	{name: "the schema has observedGeneration, and the operator never sets it", oracle: explore.TruthfulStatus, trials: 30, definition: func(text string) string {
		return strings.Replace(text, "              address:\n", "              observedGeneration: {format: int64, type: integer}\n              address:\n", 1)
	}},
	{name: "more than two replicas are capped in the spec", oracle: explore.KeepsSpec, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if site.Spec.Replicas <= 2 {
			return false, nil
		}
		return true, p.Patch(ctx, site, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`)))
	}},
	{name: "the annotations of the user are replaced", oracle: explore.KeepsSpec, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if len(site.Annotations) == 1 && site.Annotations["example.com/image"] == site.Spec.Image {
			return false, nil
		}
		site.Annotations = map[string]string{"example.com/image": site.Spec.Image}
		return true, client.IgnoreNotFound(p.Update(ctx, site))
	}},
	{name: "nobody looks at the service account", oracle: explore.FieldsMatter, trials: 60, definition: func(text string) string {
		return strings.Replace(text, "              replicas:\n", "              serviceAccountName: {type: string}\n              replicas:\n", 1)
	}},
	{name: "each Website is looked at again after ten milliseconds", oracle: explore.Converges, requeue: 10 * time.Millisecond},
	{name: "the Service is read a hundred times a second", oracle: explore.Converges, after: func(ctx context.Context, p *planted, site *website.Website) error {
		if p.done[site.UID]++; p.done[site.UID] > 1 || !site.DeletionTimestamp.IsZero() {
			return nil
		}
		go func() {
			for p.reader.Get(ctx, client.ObjectKeyFromObject(site), &corev1.Service{}) == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}()
		return nil
	}},
	{name: "the status is updated in each pass", oracle: explore.QuietWrites, after: func(ctx context.Context, p *planted, site *website.Website) error {
		return client.IgnoreNotFound(p.Status().Update(ctx, site))
	}},
	{name: "all Websites have the same ConfigMap", oracle: explore.LeavesOthersAlone, client: func(c client.Client) client.Client {
		return applying{c, func(_ context.Context, obj runtime.ApplyConfiguration) bool {
			if m, ok := obj.(*corev1ac.ConfigMapApplyConfiguration); ok {
				m.WithName("page").OwnerReferences = nil
			}
			return true
		}}
	}},
	{name: "a Service without owner takes the place of any other", oracle: explore.LeavesOthersAlone, client: func(c client.Client) client.Client {
		return applying{c, func(_ context.Context, obj runtime.ApplyConfiguration) bool {
			if s, ok := obj.(*corev1ac.ServiceApplyConfiguration); ok {
				s.OwnerReferences = nil
			}
			return true
		}}
	}},
	{name: "the annotations of the Service are replaced", oracle: explore.LeavesOthersAlone, after: func(ctx context.Context, p *planted, site *website.Website) error {
		service := named(&corev1.Service{})
		if err := p.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
			return client.IgnoreNotFound(err)
		}
		wanted := map[string]string{"example.com/host": site.Spec.Host}
		if maps.Equal(service.Annotations, wanted) {
			return nil
		}
		service.Annotations = wanted
		return p.Update(ctx, service)
	}},
	{name: "a Deployment of somebody else is taken for its own", oracle: explore.TruthfulStatus, client: func(c client.Client) client.Client {
		return applying{c, func(ctx context.Context, obj runtime.ApplyConfiguration) bool {
			d, ok := obj.(*appsv1ac.DeploymentApplyConfiguration)
			present := &appsv1.Deployment{}
			if !ok || c.Get(ctx, client.ObjectKey{Namespace: *d.Namespace, Name: *d.Name}, present) != nil || metav1.GetControllerOf(present).Kind == "Website" {
				return true
			}
			d.WithStatus(appsv1ac.DeploymentStatus().WithAvailableReplicas(present.Status.AvailableReplicas))
			return false
		}}
	}},
	{name: "a changed Secret is not noticed", oracle: explore.PathIndependent, after: func(ctx context.Context, p *planted, site *website.Website) error {
		secret := &corev1.Secret{}
		if err := p.reader.Get(ctx, client.ObjectKey{Namespace: site.Namespace, Name: "credentials"}, secret); err != nil {
			return client.IgnoreNotFound(err)
		}
		return p.annotate(ctx, site, "example.com/credentials", fmt.Sprintf("%x", sha256.Sum256(secret.Data["password"])))
	}},
	{name: "a delete takes what a Website of the same name in another namespace has", oracle: explore.CleansUp, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		if site.DeletionTimestamp.IsZero() {
			return false, nil
		}
		found := &corev1.ConfigMapList{}
		if err := p.List(ctx, found); err != nil {
			return false, err
		}
		for i := range found.Items {
			if found.Items[i].Name == site.Name {
				if err := p.Delete(ctx, &found.Items[i]); client.IgnoreNotFound(err) != nil {
					return false, err
				}
			}
		}
		return false, nil
	}},
	{name: "a Secret that comes late is not noticed", oracle: explore.Recovers, before: func(ctx context.Context, p *planted, site *website.Website) (bool, error) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: "credentials"}}
		err := p.reader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		return site.DeletionTimestamp.IsZero() && apierrors.IsNotFound(err), nil
	}},
}

// planted is the operator with a bug.
type planted struct {
	website.Reconciler
	bug
	reader  client.Reader
	started string
	done    map[types.UID]int64 // generations
}

func (p *planted) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &website.Website{}
	if err := p.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if p.before != nil {
		if skip, err := p.before(ctx, p, site); skip || err != nil {
			return ctrl.Result{}, err
		}
	}
	result, err := p.Reconciler.Reconcile(ctx, request)
	if p.requeue > 0 {
		result.RequeueAfter = p.requeue
	}
	if err != nil || p.after == nil {
		return result, err
	}
	if err := p.reader.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return result, p.after(ctx, p, site)
}

// annotate sets an annotation.
func (p *planted) annotate(ctx context.Context, site *website.Website, name, value string) error {
	before := site.DeepCopy()
	metav1.SetMetaDataAnnotation(&site.ObjectMeta, name, value)
	return client.IgnoreNotFound(p.Patch(ctx, site, client.MergeFrom(before)))
}

// applying is a client that looks at what is applied, and may leave it out.
type applying struct {
	client.Client
	look func(context.Context, runtime.ApplyConfiguration) bool
}

func (a applying) Apply(ctx context.Context, obj runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if !a.look(ctx, obj) {
		return nil
	}
	return a.Client.Apply(ctx, obj, options...)
}

// reporting is a client that looks at each new status, and may leave it out.
type reporting struct {
	client.Client
	look func(before, site *website.Website) bool
}

func (r reporting) Status() client.SubResourceWriter { return statusWriter{r.Client.Status(), r} }

type statusWriter struct {
	client.SubResourceWriter
	reporting reporting
}

func (w statusWriter) Update(ctx context.Context, obj client.Object, options ...client.SubResourceUpdateOption) error {
	before := &website.Website{}
	if err := w.reporting.Get(ctx, client.ObjectKeyFromObject(obj), before); err != nil {
		return err
	}
	if !w.reporting.look(before, obj.(*website.Website)) {
		return nil
	}
	return w.SubResourceWriter.Update(ctx, obj, options...)
}

// subject is the operator with the bug.
func (b bug) subject(t *testing.T) explore.Subject {
	s := subject(image)
	s.MaxFindings, s.Trials = 1, cmp.Or(b.trials, 300)
	if b.definition != nil {
		s.Install = []string{changedDefinition(t, b.definition), "config/rbac"}
	}
	for _, o := range explore.Oracles() {
		switch {
		case o.Oracle != b.oracle:
			s.Without = append(s.Without, o.Oracle) // a mistake often breaks several promises
		case o.Off:
			s.With = append(s.With, o.Oracle)
		}
	}
	if !b.restricted {
		s.Roles = nil
	}
	s.Seeds = append(s.Seeds, "testdata/seeds/credentials.yaml")
	s.Prepare = func(_ testing.TB, c *fakecluster.Cluster) func(context.Context, *rest.Config) error {
		hosts := &registry{}
		return func(ctx context.Context, cfg *rest.Config) error {
			return controllerruntime.Start(ctx, cfg, func(mgr ctrl.Manager) error { return b.setup(mgr, hosts) }, controllerruntime.WithScheme(scheme), controllerruntime.WithWebhooks(c))
		}
	}
	return s
}

// setup adds the operator with the bug to a manager.
func (b bug) setup(mgr ctrl.Manager, hosts *registry) error {
	p := &planted{bug: b, reader: mgr.GetAPIReader(), started: time.Now().Format(time.RFC3339), done: map[types.UID]int64{}}
	p.Reconciler = website.Reconciler{Client: mgr.GetClient(), Events: mgr.GetEventRecorder("website-operator"), Registry: hosts}
	if b.client != nil {
		p.Client = b.client(p.Client)
	}
	builder := ctrl.NewControllerManagedBy(mgr).For(&website.Website{})
	if !b.unwatched {
		builder = builder.Owns(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Owns(&corev1.Service{})
	}
	return errors.Join(builder.Complete(p), website.Operator{Image: image}.SetupWebhooks(mgr))
}

// changedDefinition returns the path of the definition of Websites with another text.
func changedDefinition(t *testing.T, change func(string) string) string {
	before, err := os.ReadFile("config/crd/example.com_websites.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(before))
	if text == string(before) {
		t.Fatal("the definition is not changed")
	}
	path := filepath.Join(t.TempDir(), "websites.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExplorationFindsPlantedBugs plants mistakes into the operator. Each is found, by the oracle that it is for. With
// -short, one mistake is planted for each oracle.
func TestExplorationFindsPlantedBugs(t *testing.T) {
	planted := map[explore.Oracle]bool{}
	for _, b := range bugs {
		if testing.Short() && planted[b.oracle] {
			continue
		}
		planted[b.oracle] = true
		t.Run(b.name, func(t *testing.T) {
			found, err := explore.FindOperator(t, b.subject(t))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found.Findings, func(f explore.Finding) bool { return f.Oracle == b.oracle }) {
				t.Errorf("%s, want one of %s: %+v", found, b.oracle, found.Findings)
			}
			for _, f := range found.Findings {
				t.Log(f.Report)
			}
		})
	}
}
