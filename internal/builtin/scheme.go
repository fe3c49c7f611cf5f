package builtin

import (
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/applyconfigurations"

	"github.com/fakecluster/fakecluster/internal/builtin/admissionregistration"
)

// Scheme returns the scheme with the Go types of the built-in kinds, their defaults and
// conversions. client-go's scheme has no defaults. It is made once and must not be changed.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme,
		admissionregistrationv1beta1.AddToScheme,
		authenticationv1.AddToScheme,
		authorizationv1.AddToScheme,
		coordinationv1.AddToScheme,
		corev1.AddToScheme,
		storagemigrationv1.AddToScheme,
		admissionregistration.AddConversions,
	} {
		utilruntime.Must(add(s))
	}
	addWebhookDefaults(s)
	admissionregistration.AddDefaults(s)
	return s
})

// types makes the type converter of the built-in types, for server-side apply. The first call in
// a process takes some 60 ms.
func types() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(Scheme()) }

// knownTypes returns one type converter for the versions of all resources.
var knownTypes = sync.OnceValues(func() (managedfields.TypeConverter, error) { return types(), nil })
