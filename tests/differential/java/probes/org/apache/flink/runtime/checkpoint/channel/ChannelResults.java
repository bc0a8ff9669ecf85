package org.apache.flink.runtime.checkpoint.channel;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.runtime.checkpoint.channel.ChannelStateWriter.ChannelStateWriteResult;

/** Results of a ChannelStateWriter for classes of other packages. */
public final class ChannelResults {
    private ChannelResults() {}

    /** A result without data, of which one side has failed. */
    public static ChannelStateWriteResult failed(boolean isInput, Throwable error) {
        return isInput
                ? new ChannelStateWriteResult(
                        CompletableFuture.failedFuture(error), CompletableFuture.completedFuture(List.of()))
                : new ChannelStateWriteResult(
                        CompletableFuture.completedFuture(List.of()), CompletableFuture.failedFuture(error));
    }
}
