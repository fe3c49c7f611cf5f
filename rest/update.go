package rest

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
)

// update replaces an object, or a subresource of it, by the body.
func (r *request) update() error {
	options := &metav1.UpdateOptions{}
	if err := r.parseQuery(options); err != nil {
		return err
	}
	if errs := metav1validation.ValidateUpdateOptions(options); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "UpdateOptions"}, "", errs)
	}
	obj, err := r.decode(r.viewed(), options.FieldValidation)
	if err != nil {
		return err
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := registryrest.EnsureObjectNamespaceMatchesRequestNamespace(r.namespace(), metadata); err != nil {
		return err
	}
	if err := checkName(metadata, r.info.Name); err != nil {
		return err
	}
	w := r.write(options, len(options.DryRun) > 0, options.FieldManager)
	w.uid = metadata.GetUID()
	body := obj
	wanted := func() (runtime.Object, error) {
		if obj := body; obj != nil {
			body = nil // the pipeline alters it; another attempt starts from the bytes again
			return obj, nil
		}
		return r.decode(r.viewed(), options.FieldValidation)
	}
	out, err := w.update(func(runtime.Object) (runtime.Object, error) { return wanted() })
	if w.missing && w.subresource == "" && r.version.Strategy.AllowCreateOnUpdate(r.ctx) {
		if obj, err = wanted(); err != nil {
			return err
		}
		if out, err = w.create(obj); err == nil {
			return r.answer(http.StatusCreated, out.text)
		}
	}
	if err != nil {
		return err
	}
	return r.answerWrite(http.StatusOK, out)
}

// answerWrite answers with what a write made of the object.
func (r *request) answerWrite(code int, out outcome) error {
	text, err := r.project(out.text)
	if err != nil {
		return err
	}
	return r.answer(code, text)
}

// checkName holds an object to the name in the path.
func checkName(metadata metav1.Object, name string) error {
	switch metadata.GetName() {
	case name:
		return nil
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the name of the object (%s) does not match the name on the URL (%s)", metadata.GetName(), name))
}

// write is the write that the request asks for.
func (r *request) write(options runtime.Object, dryRun bool, fieldManager string) *write {
	return &write{
		Server: r.Server, ctx: r.ctx, chain: r.Server.chain.Load(), version: r.version, subresource: r.info.Subresource,
		namespace: r.namespace(), name: r.info.Name, options: options, dryRun: dryRun,
		manager: managerOf(fieldManager, r.UserAgent()),
	}
}
