// Package proto is the protocol between ptobuild and plugin processes: the generated code of ptobuild.proto, and the conversions between its messages and the
// types of the core. Importing it links gRPC; cmd/ptobuild must not.
package proto

// The generated files are made with protoc 3.21.12 (Debian's protobuf-compiler), protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.0:
//
//	go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
//	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
//
//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative ptobuild.proto
