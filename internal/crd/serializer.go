package crd

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// serializer has the media types of custom objects. As on a real server, protobuf is one of them, for Tables and partial
// metadata.
type serializer struct{}

var mediaTypes = []runtime.SerializerInfo{
	{
		MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer:       json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, json.SerializerOptions{}),
		PrettySerializer: json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, json.SerializerOptions{Pretty: true}),
		StrictSerializer: json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, json.SerializerOptions{Strict: true}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true, Framer: json.Framer,
			Serializer: json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, json.SerializerOptions{}),
		},
	},
	{
		MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
		Serializer:       json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, json.SerializerOptions{Yaml: true}),
		StrictSerializer: json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer{}, json.SerializerOptions{Yaml: true, Strict: true}),
	},
	{
		MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
		Serializer: protobuf.NewSerializer(creater{}, typer{}),
		StreamSerializer: &runtime.StreamSerializerInfo{
			Serializer: protobuf.NewRawSerializer(creater{}, typer{}), Framer: protobuf.LengthDelimitedFramer,
		},
	},
}

func (serializer) SupportedMediaTypes() []runtime.SerializerInfo { return mediaTypes }

func (serializer) EncoderForVersion(e runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return e
}

func (serializer) DecoderToVersion(d runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	return d
}
