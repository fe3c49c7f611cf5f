package rest

import (
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalversionvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// parseQuery reads the options of the verb from the query.
func (r *request) parseQuery(into runtime.Object) error {
	if r.http.URL.RawQuery == "" {
		return nil
	}
	return parseValues(r.http.URL.Query(), into)
}

func parseValues(values url.Values, into runtime.Object) error {
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(values, metav1.SchemeGroupVersion, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// createOptions reads and checks the options of a create.
func (r *request) createOptions() (*metav1.CreateOptions, error) {
	options := &metav1.CreateOptions{}
	if err := r.parseQuery(options); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateCreateOptions(options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}, "", errs)
	}
	return options, nil
}

// listOptions reads and checks the options of a list or watch. A name in the
// path of a watch is a field selector.
func (r *request) listOptions() (*internalversion.ListOptions, error) {
	options := &internalversion.ListOptions{}
	if err := r.parseQuery(options); err != nil {
		return nil, err
	}
	const watchList = true // the feature gate's default
	internalversion.SetListOptionsDefaults(options, watchList)
	if errs := internalversionvalidation.ValidateListOptions(options, watchList); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	name := r.info.Name
	if name == "" {
		return options, nil
	}
	if options.FieldSelector == nil || options.FieldSelector.Empty() {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		return options, nil
	}
	// A real server rejects unknown fields before it compares the names.
	known, err := options.FieldSelector.Transform(r.version.Codec.ConvertFieldLabel)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if selected, ok := known.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return nil, apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return options, nil
}
