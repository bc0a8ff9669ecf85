package org.apache.beam.sdk.fn.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.beam.model.pipeline.v1.Endpoints.ApiServiceDescriptor;
import org.apache.beam.vendor.grpc.v1p60p1.io.grpc.BindableService;
import org.apache.beam.vendor.grpc.v1p60p1.io.grpc.Server;
import org.apache.beam.vendor.grpc.v1p60p1.io.grpc.ServerInterceptors;
import org.apache.beam.vendor.grpc.v1p60p1.io.grpc.netty.NettyServerBuilder;

/** Takes the place of Beam's class, whose servers for the workers of PyFlink listen on all interfaces, without a setting. */
public abstract class ServerFactory {
    /** Returns servers that listen on the loopback interface. */
    public static ServerFactory createDefault() {
        return new OnLoopback();
    }

    /** Starts a server at a free port, and puts its address into the descriptor. */
    public abstract Server allocateAddressAndCreate(List<BindableService> services, ApiServiceDescriptor.Builder descriptor)
            throws IOException;

    /** Starts a server at the port of the descriptor. */
    public abstract Server create(List<BindableService> services, ApiServiceDescriptor descriptor) throws IOException;

    private static final class OnLoopback extends ServerFactory {
        @Override
        public Server allocateAddressAndCreate(List<BindableService> services, ApiServiceDescriptor.Builder descriptor)
                throws IOException {
            Server server = started(services, 0);
            descriptor.setUrl("127.0.0.1:" + server.getPort());
            return server;
        }

        @Override
        public Server create(List<BindableService> services, ApiServiceDescriptor descriptor) throws IOException {
            return started(services, URI.create("grpc://" + descriptor.getUrl()).getPort());
        }

        private static Server started(List<BindableService> services, int port) throws IOException {
            NettyServerBuilder builder =
                    NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port))
                            .maxMessageSize(Integer.MAX_VALUE)
                            .permitKeepAliveTime(1, TimeUnit.SECONDS);
            for (BindableService service : services) {
                builder.addService(
                        ServerInterceptors.intercept(service, GrpcContextHeaderAccessorProvider.interceptor()));
            }
            return builder.build().start();
        }
    }
}
