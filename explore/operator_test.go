package explore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/fakecluster/fakecluster/explore"
)

// operator makes a Secret for each ConfigMap, and notes on the ConfigMap that it is there. Each of its
// fields is a mistake.
type operator struct {
	// trustsCache looks into the cache of Secrets whether there is one, and makes one with a
	// generated name if it finds none.
	trustsCache bool
	// ignoresErrors does not look at the error of an update.
	ignoresErrors bool
	// stores only in memory for which ConfigMaps it has made a Secret with a generated name.
	remembers bool
}

func (o operator) run(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	configMaps, secrets := factory.Core().V1().ConfigMaps(), factory.Core().V1().Secrets()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	enqueue := func(obj any) { queue.AddAfter(obj.(*corev1.ConfigMap).Name, time.Second) }
	_, err = configMaps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		return err
	}
	secrets.Informer()
	defer factory.Shutdown()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	context.AfterFunc(ctx, queue.ShutDown)
	made := map[string]bool{}
	for {
		name, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		err := o.reconcile(ctx, client, configMaps.Lister().ConfigMaps("default").Get, secrets.Lister().Secrets("default").List, made, name)
		if err != nil {
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

func (o operator) reconcile(ctx context.Context, client kubernetes.Interface, get func(string) (*corev1.ConfigMap, error),
	list func(labels.Selector) ([]*corev1.Secret, error), made map[string]bool, name string) error {
	configMap, err := get(name)
	if err != nil || configMap.Labels["app"] != "web" {
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": name}}}
	exists := false
	switch {
	case o.trustsCache:
		secrets, err := list(labels.SelectorFromSet(secret.Labels))
		if err != nil {
			return err
		}
		exists = len(secrets) > 0
		secret.Name, secret.GenerateName = "", name+"-"
	case o.remembers:
		exists = made[name]
		secret.Name, secret.GenerateName = "", name+"-"
	}
	if !exists {
		_, err := client.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		made[name] = true
	}
	if configMap.Annotations["ready"] == "true" {
		return nil
	}
	configMap = configMap.DeepCopy()
	configMap.Annotations = map[string]string{"ready": "true"}
	_, err = client.CoreV1().ConfigMaps("default").Update(ctx, configMap, metav1.UpdateOptions{})
	if o.ignoresErrors {
		return nil
	}
	return err
}

// oneSecret is the test of an operator: there is one Secret in the end, and the ConfigMap names it.
func (o operator) oneSecret(t testing.TB, c *explore.Cluster) {
	c.Control("operator", c.RESTConfig(), o.run)
	client := kubernetes.NewForConfigOrDie(c.RESTConfig())
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "web"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Wait(3 * time.Minute)
	secrets, err := client.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(secrets.Items); n != 1 {
		t.Errorf("there are %d secrets, want one", n)
	}
	configMap, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if configMap.Annotations["ready"] != "true" {
		t.Error("the ConfigMap is not ready")
	}
}

var errBroken = errors.New("broken")
