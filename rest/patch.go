package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	registryrest "k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	kjson "sigs.k8s.io/json"

	"github.com/fakecluster/fakecluster/internal/resource"
)

// maxJSONPatchOperations is upstream's limit.
const maxJSONPatchOperations = 10000

// maxJSONPatchCopyBytes bounds what the copy operations of one JSON patch may
// add, so that a small patch makes no large object. The library knows the limit
// by a variable of its package alone; a real server sets the same one.
const maxJSONPatchCopyBytes = 3 * 1024 * 1024

func init() { jsonpatch.AccumulatedCopySizeLimit = maxJSONPatchCopyBytes }

// patch changes an object, or a subresource of it, as the body says. An apply
// may create it.
func (r *request) patch() error {
	patchType, err := r.patchType()
	if err != nil {
		return err
	}
	body, err := r.readBody()
	if err != nil {
		return err
	}
	if r.trail != nil {
		audit.LogRequestPatch(r.ctx, body)
	}
	options := &metav1.PatchOptions{}
	if err := r.parseQuery(options); err != nil {
		return err
	}
	if errs := metav1validation.ValidatePatchOptions(options, patchType); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	if err := checkPatch(body, patchType); err != nil {
		return err
	}
	p := &patcher{
		write: r.write(&metav1.UpdateOptions{
			DryRun: options.DryRun, FieldManager: options.FieldManager, FieldValidation: options.FieldValidation,
		}, len(options.DryRun) > 0, options.FieldManager),
		view: r.viewed(), body: body, patchType: patchType, options: options,
		validate: options.FieldValidation != metav1.FieldValidationIgnore,
		strict:   options.FieldValidation == metav1.FieldValidationStrict,
	}
	p.ownersFound = afterAdmission // a real server does not look for them before, in a patch
	out, err := p.run()
	if err != nil {
		return err
	}
	code := http.StatusOK
	if out.created {
		code = http.StatusCreated
	}
	return r.answerWrite(code, out)
}

// patchType is the kind of patch by its media type, if the resource takes it.
func (r *request) patchType() (types.PatchType, error) {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if r.version.Patches.StrategicMerge != nil {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	accepted = append(accepted, string(types.ApplyYAMLPatchType))
	mediaType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	for _, a := range accepted {
		if a == mediaType {
			return types.PatchType(a), nil
		}
	}
	return "", negotiation.NewUnsupportedMediaTypeError(accepted)
}

// checkPatch refuses a body that is no JSON, or YAML for an apply.
func checkPatch(body []byte, patchType types.PatchType) error {
	if json.Valid(body) {
		return nil
	}
	if patchType == types.ApplyYAMLPatchType {
		if _, err := yaml.ToJSON(body); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
		return nil
	}
	return apierrors.NewBadRequest("invalid JSON patch")
}

// patcher is the write that a patch makes.
type patcher struct {
	*write
	view      *resource.Version // the kind that is patched
	body      []byte
	patchType types.PatchType
	options   *metav1.PatchOptions
	validate  bool // complain of unknown and duplicate fields
	strict    bool // refuse them
}

// run updates the object or, for an apply, creates it. Another writer may create
// or delete it meanwhile: then it tries the other way.
func (p *patcher) run() (outcome, error) {
	name := p.name
	for {
		p.name = name // a webhook may have given another to the object that was to be created
		out, err := p.update(p.change)
		if p.patchType != types.ApplyYAMLPatchType || !apierrors.IsNotFound(err) || p.subresource != "" || !p.missing {
			return out, err
		}
		obj, err := p.apply(p.version.Codec.New())
		if err != nil {
			return outcome{}, err
		}
		if err := p.checkCreated(obj); err != nil {
			return outcome{}, err
		}
		out, err = p.create(obj)
		if !apierrors.IsAlreadyExists(err) {
			out.created = true
			return out, err
		}
	}
}

// checkCreated refuses an apply that means an object which is not there.
func (p *patcher) checkCreated(obj runtime.Object) error {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if uid := metadata.GetUID(); uid != "" {
		return apierrors.NewConflict(p.version.Resource.GroupResource(), p.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	return p.checkNames(obj)
}

// change is what the patch makes of the current object.
func (p *patcher) change(current runtime.Object) (obj runtime.Object, err error) {
	switch p.patchType {
	case types.ApplyYAMLPatchType:
		obj, err = p.apply(current)
	case types.StrategicMergePatchType:
		obj, err = p.strategicMerge(current)
	default:
		obj, err = p.patchJSON(current)
	}
	if err != nil {
		return nil, err
	}
	return obj, p.checkNames(obj)
}

// checkNames holds the patched object to the name and namespace in the path.
func (p *patcher) checkNames(obj runtime.Object) error {
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if err := registryrest.EnsureObjectNamespaceMatchesRequestNamespace(p.namespace, metadata); err != nil {
		return err
	}
	return checkName(metadata, p.name)
}

// patchJSON applies a JSON patch or a merge patch to the JSON of the object.
func (p *patcher) patchJSON(current runtime.Object) (runtime.Object, error) {
	if p.view.Patches.Merge != nil && p.patchType == types.MergePatchType {
		if obj, done, err := p.mergeMaps(current); done {
			return obj, err
		}
	}
	before, err := p.view.Codec.Encode(current)
	if err != nil {
		return nil, err
	}
	var after []byte
	var complaints []error
	if p.patchType == types.JSONPatchType {
		after, complaints, err = p.applyOperations(before)
	} else {
		after, complaints, err = p.mergeJSON(before)
	}
	if err != nil {
		return nil, err
	}
	serializer := p.view.Serializer.SupportedMediaTypes()[0].Serializer
	if p.validate {
		serializer = p.view.Serializer.SupportedMediaTypes()[0].StrictSerializer
	}
	obj, _, err := p.view.Codec.Decode(after, serializer)
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, invalidPatch(string(after), err)
		}
		complaints = append(complaints, strict.Errors()...)
	}
	return obj, p.complain(complaints, string(after))
}

// complain warns of unknown and duplicate fields, or refuses them.
func (p *patcher) complain(complaints []error, patched string) error {
	if len(complaints) == 0 || !p.validate {
		return nil
	}
	if p.strict {
		return invalidPatch(patched, runtime.NewStrictDecodingError(complaints))
	}
	for _, c := range complaints {
		for _, text := range splitYAMLComplaints(c.Error()) {
			warning.AddWarning(p.ctx, "", text)
		}
	}
	return nil
}

func invalidPatch(patched string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patched, err.Error())})
}

// jsonPatchOp is one operation of a JSON patch.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// applyOperations applies a JSON patch.
func (p *patcher) applyOperations(before []byte) (after []byte, complaints []error, err error) {
	if p.validate {
		var operations []jsonPatchOp
		if complaints, err = kjson.UnmarshalStrict(p.body, &operations); err != nil {
			// The text names the Go type, which is upstream's for all that clients know.
			text := strings.ReplaceAll(err.Error(), "rest.jsonPatchOp", "handlers.jsonPatchOp")
			return nil, nil, apierrors.NewBadRequest("error decoding patch: " + text)
		}
		for i, c := range complaints {
			complaints[i] = fmt.Errorf("json patch %w", c)
		}
	}
	operations, err := jsonpatch.DecodePatch(p.body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(operations) > maxJSONPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, len(operations)))
	}
	after, err = operations.Apply(before)
	if err != nil {
		return nil, nil, unprocessable(err)
	}
	return after, complaints, nil
}

func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// mergeJSON applies a merge patch.
func (p *patcher) mergeJSON(before []byte) (after []byte, complaints []error, err error) {
	if p.validate {
		patch := map[string]any{}
		if complaints, err = kjson.UnmarshalStrict(p.body, &patch); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	after, err = jsonpatch.MergePatch(before, p.body)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		err = apierrors.NewBadRequest(err.Error())
	}
	return after, complaints, err
}

// mergeMaps applies a merge patch to an object that is a map. What is unusual
// about a patch or its outcome it leaves to mergeJSON, which has the words for it.
func (p *patcher) mergeMaps(current runtime.Object) (obj runtime.Object, done bool, err error) {
	patch := map[string]any{}
	if duplicates, err := kjson.UnmarshalStrict(p.body, &patch); err != nil || len(duplicates) > 0 || patch == nil {
		return nil, false, nil
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if _, ok := patch[key]; ok {
			return nil, false, nil
		}
	}
	obj, err = p.view.Patches.Merge(current, patch, p.validate)
	return obj, err == nil, nil
}

// strategicMerge applies a strategic merge patch, which only typed kinds take.
func (p *patcher) strategicMerge(current runtime.Object) (runtime.Object, error) {
	patch := map[string]any{}
	var complaints []error
	var err error
	if p.validate {
		complaints, err = kjson.UnmarshalStrict(p.body, &patch)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.body, &patch)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj, err := p.version.Patches.StrategicMerge(current, patch, p.validate)
	shown := fmt.Sprintf("%+v", patch)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		complaints = append(complaints, strict.Errors()...)
	} else if err != nil {
		return nil, strategicMergeError(err, shown)
	}
	return obj, p.complain(complaints, shown)
}

// strategicMergeError tells a bad patch from one that does not fit the object.
func strategicMergeError(err error, patch string) error {
	for _, bad := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return unprocessable(err)
	}
	var decoding *resource.PatchedError
	if errors.As(err, &decoding) {
		return invalidPatch(patch, decoding.Err)
	}
	return err
}

// apply merges an apply configuration into the current object, or into an empty
// one, and settles who owns its fields from then on.
func (p *patcher) apply(current runtime.Object) (runtime.Object, error) {
	configuration, strictly, err := p.parseConfiguration()
	if err != nil {
		return nil, err
	}
	obj, err := p.applyConfiguration(current, configuration)
	if err != nil {
		return nil, err
	}
	p.applied = true
	if !p.validate || strictly {
		return obj, nil
	}
	if err := yaml.UnmarshalStrict(p.body, &map[string]any{}); err != nil {
		if p.strict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		for _, text := range splitYAMLComplaints(err.Error()) {
			warning.AddWarning(p.ctx, "", text)
		}
	}
	return obj, nil
}

// applyConfiguration merges a configuration into an object.
func (p *patcher) applyConfiguration(current runtime.Object, configuration *unstructured.Unstructured) (runtime.Object, error) {
	var learn func(runtime.Object)
	if shortcut := p.version.FieldShortcut; shortcut != nil && p.subresource == "" {
		var applied runtime.Object
		if applied, learn = shortcut.Apply(current, configuration, p.options.FieldManager, p.now()); applied != nil {
			return applied, nil
		}
	}
	fields, err := p.fieldManager()
	if err != nil {
		return nil, err
	}
	force := p.options.Force != nil && *p.options.Force
	obj, err := fields.Apply(current, configuration, p.options.FieldManager, force)
	if err == nil && learn != nil {
		learn(obj)
	}
	return obj, err
}

// parseConfiguration reads an apply configuration, and tells whether a strict
// reader could have nothing against it. Most are JSON, which takes a tenth of the
// time to read as such, and says the same unless texts or numbers are unusual.
func (p *patcher) parseConfiguration() (u *unstructured.Unstructured, strictly bool, err error) {
	u = &unstructured.Unstructured{Object: map[string]any{}}
	if isPlainYAML(p.body) {
		if complaints, err := kjson.UnmarshalStrict(p.body, &u.Object); err == nil && len(complaints) == 0 && !hasFloats(u.Object) {
			return u, true, nil
		}
	}
	u.Object = map[string]any{}
	if err := yaml.Unmarshal(p.body, &u.Object); err != nil {
		return nil, false, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return u, false, nil
}

// isPlainYAML tells of JSON that its texts are the same if it is read as YAML.
// Outside of ASCII YAML knows other line breaks, and it has no pairs of surrogates.
func isPlainYAML(body []byte) bool {
	for i, c := range body {
		switch {
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c > '~':
			return false
		case c == '\\' && i+1 < len(body) && (body[i+1] == 'u' || body[i+1] == '/'):
			return false
		}
	}
	return true
}

// hasFloats tells whether there is a number that is no integer, as JSON writes it.
// YAML knows no difference between 1.0 and 1.
func hasFloats(value any) bool {
	switch value := value.(type) {
	case float64:
		return true
	case map[string]any:
		for _, v := range value {
			if hasFloats(v) {
				return true
			}
		}
	case []any:
		for _, v := range value {
			if hasFloats(v) {
				return true
			}
		}
	}
	return false
}
