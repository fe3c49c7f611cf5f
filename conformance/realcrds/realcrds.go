// Package realcrds installs the CustomResourceDefinitions that well-known projects ship and
// checks that they work: each has to be accepted, established and in discovery, and a list
// in each of its versions has to succeed.
package realcrds

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/conformance/verdict"
	"github.com/fakecluster/fakecluster/fakecluster"
)

// List is the list that results are compared with, seen from the folder conformance.
var List = verdict.List{
	Path: "realcrds.txt",
	Comment: `The CustomResourceDefinitions that well-known projects ship: module, file, name.
Written by "go run . -only realcrds -update".`,
}

// Run installs every definition. The first of each name goes into one cluster, and Run
// prints what that cost. A project may ship variants of a definition; each of them gets a
// cluster of its own.
func Run(ctx context.Context, w io.Writer) ([]verdict.Result, error) {
	manifests, err := shipped(ctx)
	if err != nil {
		return nil, err
	}
	var first, variants []manifest
	for _, m := range manifests {
		sameName := func(other manifest) bool { return other.object.GetName() == m.object.GetName() }
		if slices.ContainsFunc(first, sameName) {
			variants = append(variants, m)
		} else {
			first = append(first, m)
		}
	}

	// The libraries make some things once in a process; they are not counted.
	if _, err := installAll(ctx, first[:1]); err != nil {
		return nil, err
	}
	var results []verdict.Result
	before := heap()
	cluster, err := fakecluster.New(fakecluster.InProcess())
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	var took time.Duration
	for _, m := range first {
		r := install(ctx, cluster, m)
		took += r.Time
		results = append(results, r)
	}
	grown := heap() - before
	for _, m := range variants {
		r, err := installAll(ctx, []manifest{m})
		if err != nil {
			return nil, err
		}
		results = append(results, r...)
	}
	slices.SortFunc(results, func(a, b verdict.Result) int { return cmp.Compare(a.Name, b.Name) })
	fmt.Fprintf(w, "%d definitions in one cluster: created in %v, %.1f MiB of heap; %d variants in clusters of their own\n",
		len(first), verdict.Round(took), float64(grown)/(1<<20), len(variants))
	runtime.KeepAlive(cluster)
	return results, nil
}

// installAll installs definitions into a cluster of their own.
func installAll(ctx context.Context, manifests []manifest) ([]verdict.Result, error) {
	cluster, err := fakecluster.New(fakecluster.InProcess())
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	var results []verdict.Result
	for _, m := range manifests {
		results = append(results, install(ctx, cluster, m))
	}
	return results, nil
}

// heap returns how many bytes live on the heap.
func heap() int64 {
	// What a finalizer frees is gone after the second collection.
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// install creates a definition and checks it once, without waiting: a definition works when
// its creation has been answered.
func install(ctx context.Context, cluster *fakecluster.Cluster, m manifest) verdict.Result {
	result := verdict.Result{Name: m.String(), Verdict: verdict.Pass}
	config := cluster.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{} // many serve deprecated versions
	client, err := dynamic.NewForConfig(config)
	if err == nil {
		started := time.Now()
		// Strictly, as kubectl does.
		_, err = client.Resource(definitionResource).Create(ctx, m.object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		result.Time = time.Since(started)
	}
	if err == nil {
		err = works(ctx, cluster, client, m.object.GetName())
	}
	if err != nil {
		result.Verdict, result.Reason = verdict.Fail, verdict.Reason(err.Error())
	}
	return result
}

var definitionResource = apiextensions.SchemeGroupVersion.WithResource("customresourcedefinitions")

// works returns what is wrong with a definition in a cluster.
func works(ctx context.Context, cluster *fakecluster.Cluster, client dynamic.Interface, name string) error {
	crd, err := cluster.APIExtensions().ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !apihelpers.IsCRDConditionTrue(crd, apiextensions.Established) {
		return fmt.Errorf("not established: %v", crd.Status.Conditions)
	}
	served := 0
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		served++
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		resources, err := cluster.Discovery().ServerResourcesForGroupVersion(gv.String())
		if err != nil {
			return fmt.Errorf("discovery: %w", err)
		}
		isIt := func(r metav1.APIResource) bool {
			return r.Name == crd.Spec.Names.Plural && r.Kind == crd.Spec.Names.Kind &&
				r.Namespaced == (crd.Spec.Scope == apiextensions.NamespaceScoped)
		}
		if !slices.ContainsFunc(resources.APIResources, isIt) {
			return fmt.Errorf("discovery of %s does not have it", gv)
		}
		list, err := client.Resource(gv.WithResource(crd.Spec.Names.Plural)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing in %s: %w", version.Name, err)
		}
		if want := cmp.Or(crd.Spec.Names.ListKind, crd.Spec.Names.Kind+"List"); list.GetKind() != want {
			return fmt.Errorf("listing in %s gives a %s", version.Name, list.GetKind())
		}
	}
	if served == 0 {
		return fmt.Errorf("it serves none of its %d versions: %s", len(crd.Spec.Versions), strings.Join(crd.Status.StoredVersions, ", "))
	}
	return nil
}
