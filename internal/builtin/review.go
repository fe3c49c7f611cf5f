package builtin

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// Reviews returns the resources whose creates are answered and not stored.
func Reviews() []*resource.Resource {
	return []*resource.Resource{
		review(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), "selfsubjectreviews", "selfsubjectreview", whoAmI),
		review(authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"), "selfsubjectaccessreviews", "selfsubjectaccessreview", mayI),
	}
}

func review(kind schema.GroupVersionKind, plural, singular string, answer resource.Review) *resource.Resource {
	r := &resource.Resource{
		Group: kind.Group,
		Names: resource.Names{Plural: plural, Singular: singular, Kind: kind.Kind, ListKind: kind.Kind + "List"},
		Verbs: []string{"create"},
	}
	codec := resource.NewTypedCodec(Scheme(), kind, kind.GroupVersion(), nil)
	r.Storage = &resource.Version{
		Resource: r, Name: kind.Version, Served: true, Typed: true,
		Codec: codec, Serializer: codec.Serializer(), Review: answer,
	}
	r.Versions = []*resource.Version{r.Storage}
	return r
}

// whoAmI fills in the user of the request.
func whoAmI(ctx context.Context, obj runtime.Object) {
	review := obj.(*authenticationv1.SelfSubjectReview)
	if user, ok := apirequest.UserFrom(ctx); ok {
		review.Status.UserInfo = authenticationv1.UserInfo{Username: user.GetName(), UID: user.GetUID(), Groups: user.GetGroups()}
	}
}

// mayI allows the request, because every client with the token may do everything.
func mayI(_ context.Context, obj runtime.Object) {
	obj.(*authorizationv1.SelfSubjectAccessReview).Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
}
