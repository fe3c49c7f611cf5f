package builtin

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/registry/authentication/selfsubjectreview"
	"k8s.io/kubernetes/pkg/registry/authentication/tokenreview"
	"k8s.io/kubernetes/pkg/registry/authorization/localsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectaccessreview"
	"k8s.io/kubernetes/pkg/registry/authorization/selfsubjectrulesreview"
	"k8s.io/kubernetes/pkg/registry/authorization/subjectaccessreview"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// authenticationKinds has the reviews of authentication.k8s.io.
var authenticationKinds = group{name: "authentication.k8s.io", kinds: []kind{
	{
		kind: "SelfSubjectReview", plural: "selfsubjectreviews", singular: "selfsubjectreview",
		clusterScoped: true, verbs: createVerb, versions: []string{"v1"},
		answer: answerOf(selfsubjectreview.NewREST()),
	},
	{
		kind: "TokenReview", plural: "tokenreviews", singular: "tokenreview",
		clusterScoped: true, verbs: createVerb, versions: []string{"v1"},
		answer: reviewToken,
	},
}}

// authorizationKinds has the reviews of authorization.k8s.io.
var authorizationKinds = group{name: "authorization.k8s.io", kinds: []kind{
	{
		kind: "LocalSubjectAccessReview", plural: "localsubjectaccessreviews", singular: "localsubjectaccessreview",
		verbs: createVerb, versions: []string{"v1"},
		answer: answerOf(localsubjectaccessreview.NewREST(contextAuthorizer{}, legacyscheme.Scheme)),
	},
	{
		kind: "SelfSubjectAccessReview", plural: "selfsubjectaccessreviews", singular: "selfsubjectaccessreview",
		clusterScoped: true, verbs: createVerb, versions: []string{"v1"},
		answer: answerOf(selfsubjectaccessreview.NewREST(contextAuthorizer{}, legacyscheme.Scheme)),
	},
	{
		kind: "SelfSubjectRulesReview", plural: "selfsubjectrulesreviews", singular: "selfsubjectrulesreview",
		clusterScoped: true, verbs: createVerb, versions: []string{"v1"},
		answer: answerOf(selfsubjectrulesreview.NewREST(contextAuthorizer{})),
	},
	{
		kind: "SubjectAccessReview", plural: "subjectaccessreviews", singular: "subjectaccessreview",
		clusterScoped: true, verbs: createVerb, versions: []string{"v1"},
		answer: answerOf(subjectaccessreview.NewREST(contextAuthorizer{}, legacyscheme.Scheme)),
	},
}}

// answerOf returns a Review by upstream's code.
func answerOf(review registryrest.Creater) resource.Review {
	return func(ctx context.Context, obj runtime.Object, validate registryrest.ValidateObjectFunc) (runtime.Object, error) {
		return review.Create(ctx, obj, validate, &metav1.CreateOptions{})
	}
}

// reviewToken answers a TokenReview with the user of the token.
func reviewToken(ctx context.Context, obj runtime.Object, validate registryrest.ValidateObjectFunc) (runtime.Object, error) {
	c, err := ClusterFrom(ctx)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return tokenreview.NewREST(c, c.Tokens().Audiences()).Create(ctx, obj, validate, &metav1.CreateOptions{})
}
