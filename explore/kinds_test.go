package explore_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/fakecluster/fakecluster/explore"
)

// jobOperator runs the Pod of each Job, and a ConfigMap with the limit of its retries. Each of its fields is a mistake, or none.
type jobOperator struct {
	forgetsTime  bool // reports the end without its time
	keepsHistory bool // keeps a ConfigMap for each limit that there was
	reportsOnce  bool // makes a second ConfigMap only in the pass that has made the first
	takesLost    bool // takes a Pod that is missing for one that has ended, if the ConfigMap was there before
	endsPaused   bool // reports the end of a Job that is suspended
}

func (o jobOperator) run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	jobs, pods := factory.Batch().V1().Jobs(), factory.Core().V1().Pods()
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { note() }, UpdateFunc: func(_, _ any) { note() }, DeleteFunc: func(any) { note() }}
	for _, informer := range []cache.SharedIndexInformer{jobs.Informer(), pods.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		list, err := client.BatchV1().Jobs("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := o.reconcile(ctx, client, &list.Items[i]); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
}

func (o jobOperator) reconcile(ctx context.Context, client kubernetes.Interface, job *batchv1.Job) error {
	if job.DeletionTimestamp != nil || job.Status.CompletionTime != nil || job.Status.Succeeded > 0 {
		return nil
	}
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	name := job.Name
	if o.keepsHistory {
		name += "-" + string(rune('a'+*job.Spec.BackoffLimit%26))
	}
	limit := map[string]string{"limit": string(rune('0' + *job.Spec.BackoffLimit%10))}
	made := false
	switch now, err := client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		made = true
		names := []string{name}
		if o.reportsOnce {
			names = append(names, name+"-report")
		}
		for _, made := range names {
			_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: made, OwnerReferences: owner}, Data: limit}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
		}
	case err != nil:
		return err
	case !maps.Equal(now.Data, limit):
		now.Data = limit
		if _, err := client.CoreV1().ConfigMaps("default").Update(ctx, now, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	suspended := job.Spec.Suspend != nil && *job.Spec.Suspend
	if suspended && !o.endsPaused {
		return nil
	}
	pod, err := client.CoreV1().Pods("default").Get(ctx, job.Name, metav1.GetOptions{})
	if o.takesLost && apierrors.IsNotFound(err) && !made {
		pod, err = &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}, nil
	}
	switch {
	case apierrors.IsNotFound(err) && suspended:
		return nil
	case apierrors.IsNotFound(err):
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: job.Name, OwnerReferences: owner}, Spec: job.Spec.Template.Spec}
		_, err = client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	case err != nil:
		return err
	case pod.Status.Phase == corev1.PodSucceeded:
		now := metav1.Now()
		job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuccessCriteriaMet, Status: "True"}, {Type: batchv1.JobComplete, Status: "True"}}
		if o.forgetsTime {
			job.Status = batchv1.JobStatus{StartTime: &now, Succeeded: 1}
		}
		_, err = client.BatchV1().Jobs("default").UpdateStatus(ctx, job, metav1.UpdateOptions{})
	}
	return err
}

func (o jobOperator) subject() explore.Subject {
	return explore.Subject{Resources: []string{"jobs.batch"}, Seeds: []string{"testdata/job.yaml"}, Run: o.run, Without: []explore.Oracle{explore.FieldsMatter}}
}

// The objects of a kind of Kubernetes are created and changed, by the schema that the server publishes.
func TestAnOperatorOfABuiltInKind(t *testing.T) {
	s := jobOperator{}.subject()
	s.Trials = 64
	found, plan := explore.FindTrials(t, s, 2)
	for _, f := range found.Findings {
		t.Error(f.Report)
	}
	for _, trial := range []string{
		"jobs.batch default/backup: create; delete",
		"jobs.batch default/backup: set /spec/backoffLimit 3; create",
		`jobs.batch default/backup: set /spec/completionMode "NonIndexed"; create`,
		`jobs.batch default/backup: set /spec/podReplacementPolicy "TerminatingOrFailed"; create`,
	} {
		if !slices.Contains(plan, trial) {
			t.Errorf("%s is not among the trials, which are\n%s", trial, strings.Join(plan, "\n"))
		}
	}
}

// What a Job has done is done, and need not be made good. A mistake in what has not ended is found.
func TestWhatHasRunToItsEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		operator jobOperator
		replay   string
		want     string
	}{
		"history": {jobOperator{keepsHistory: true}, "jobs.batch default/backup: set /spec/suspend true; create; set /spec/backoffLimit 3",
			"path-independent configmaps default/backup-c exists"},
		"no time of its end": {jobOperator{forgetsTime: true}, "jobs.batch default/backup: create; set /spec/suspend true",
			"path-independent jobs.batch default/backup has /status/startTime, and 2 differences more"},
		"a crash before the end": {jobOperator{reportsOnce: true}, "jobs.batch default/backup: create | crash-after operator create configmaps default/ 1",
			"recovers configmaps default/backup-report does not exist"},
		"a false end after a crash": {jobOperator{takesLost: true}, "jobs.batch default/backup: create | crash-after operator create configmaps default/ 1",
			"recovers pods default/backup does not exist"},
		"an end in spite of the user": {jobOperator{endsPaused: true}, "jobs.batch default/backup: create & set /spec/suspend true | user-before operator update jobs.batch/status default/backup 1",
			"recovers jobs.batch default/backup has /status/completionTime, and 4 differences more"},
		"history while it ends":      {jobOperator{keepsHistory: true}, "jobs.batch default/backup: create & set /spec/backoffLimit 3 | user-before operator update jobs.batch/status default/backup 1", ""},
		"history after a crash":      {jobOperator{keepsHistory: true}, "jobs.batch default/backup: create; set /spec/backoffLimit 3 | crash-after operator create configmaps default/ 1", ""},
		"labels by default":          {jobOperator{}, `jobs.batch default/backup: remove /metadata/labels; set /spec/suspend true; create; set /metadata/labels/explored "a"`, ""},
		"a crash of a correct one":   {jobOperator{}, "jobs.batch default/backup: create | crash-after operator create configmaps default/ 1", ""},
		"a change after the end":     {jobOperator{}, "jobs.batch default/backup: create; set /spec/suspend true", ""},
		"a failure after the end":    {jobOperator{}, "jobs.batch default/backup: create; fail", ""},
		"another one":                {jobOperator{}, "jobs.batch default/backup: create; delete; create", ""},
		"what is lost after the end": {jobOperator{}, "jobs.batch default/backup: create; delete-owned configmaps default/backup", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tt.operator == (jobOperator{}) {
				t.Skip("-short: the operators with mistakes have cases, too")
			}
			s := tt.operator.subject()
			s.Replay = tt.replay
			found, err := explore.FindOperator(t, s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found.Findings {
				got = append(got, string(f.Oracle)+" "+f.What)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesInSubjectResources(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *explore.Subject)
		want   string
	}{
		"unknown": {func(s *explore.Subject) { s.Resources = []string{"job.batch.k8s.io"} },
			`Subject.Resources: job.batch.k8s.io: the server does not serve this resource: write the plural and the group, such as jobs.batch: no matches for batch.k8s.io/, Resource=job`},
		"no seeds":     {func(s *explore.Subject) { s.Seeds = nil }, "Subject.Seeds is empty: give a manifest with an object of each of Subject.Resources"},
		"other seeds":  {func(s *explore.Subject) { s.Resources = []string{"cronjobs.batch"} }, "there is no object of cronjobs.batch in Subject.Seeds (testdata/job.yaml)"},
		"no resources": {func(s *explore.Subject) { s.Resources = nil }, "Subject.Install is empty: give the folder with the operator's definitions, such as config/crd, or set Subject.Resources, such as jobs.batch"},
	} {
		t.Run(name, func(t *testing.T) {
			s := jobOperator{}.subject()
			tt.change(&s)
			if _, err := explore.FindOperator(t, s); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %v", err, errors.New(tt.want))
			}
		})
	}
}
