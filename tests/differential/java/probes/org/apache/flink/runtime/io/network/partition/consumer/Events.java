package org.apache.flink.runtime.io.network.partition.consumer;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.event.AbstractEvent;
import org.apache.flink.runtime.io.network.api.CancelCheckpointMarker;
import org.apache.flink.runtime.io.network.api.CheckpointBarrier;
import org.apache.flink.runtime.io.network.api.EndOfData;
import org.apache.flink.runtime.io.network.api.EndOfPartitionEvent;
import org.apache.flink.runtime.io.network.api.EventAnnouncement;
import org.apache.flink.runtime.io.network.api.StopMode;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;

/** Events by the names that the tests use, and back. */
public final class Events {
    private static final long TIMEOUT = 1_000;

    private Events() {}

    public static AbstractEvent event(String name, int id) {
        switch (name) {
            case "drain":
                return new EndOfData(StopMode.DRAIN);
            case "no drain":
                return new EndOfData(StopMode.NO_DRAIN);
            case "end":
                return EndOfPartitionEvent.INSTANCE;
            case "cancel":
                return new CancelCheckpointMarker(id);
            default:
                return new CheckpointBarrier(id, 1, options(name));
        }
    }

    public static boolean overtakes(String name) {
        return name.equals("unaligned");
    }

    public static String name(AbstractEvent event) {
        if (event instanceof EndOfData) {
            return ((EndOfData) event).getStopMode() == StopMode.DRAIN ? "drain" : "no drain";
        }
        if (event instanceof EndOfPartitionEvent) {
            return "end";
        }
        if (event instanceof CancelCheckpointMarker) {
            return "cancel " + ((CancelCheckpointMarker) event).getCheckpointId();
        }
        if (event instanceof EventAnnouncement) {
            EventAnnouncement announcement = (EventAnnouncement) event;
            return "announced " + announcement.getSequenceNumber() + " " + name(announcement.getAnnouncedEvent());
        }
        CheckpointBarrier barrier = (CheckpointBarrier) event;
        CheckpointOptions options = barrier.getCheckpointOptions();
        String kind = options.isUnalignedCheckpoint() ? "unaligned" : options.isTimeoutable() ? "timeoutable" : "aligned";
        return kind + " " + barrier.getId();
    }

    private static CheckpointOptions options(String name) {
        CheckpointStorageLocationReference place = CheckpointStorageLocationReference.getDefault();
        switch (name) {
            case "aligned":
                return CheckpointOptions.alignedNoTimeout(CheckpointType.CHECKPOINT, place);
            case "timeoutable":
                return CheckpointOptions.alignedWithTimeout(CheckpointType.CHECKPOINT, place, TIMEOUT);
            case "unaligned":
                return CheckpointOptions.unaligned(CheckpointType.CHECKPOINT, place);
            default:
                throw new IllegalArgumentException(name);
        }
    }
}
