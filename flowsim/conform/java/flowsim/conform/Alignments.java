package flowsim.conform;

import static flowsim.conform.Conductor.field;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Optional;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil;
import org.apache.flink.streaming.runtime.io.checkpointing.BarrierAlignmentUtil.DelayableTimer;
import org.apache.flink.streaming.runtime.io.checkpointing.CheckpointBarrierHandler;
import org.apache.flink.streaming.runtime.io.checkpointing.SingleCheckpointBarrierHandler;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.streaming.runtime.tasks.TimerService;
import org.apache.flink.util.clock.Clock;

/**
 * Lets alignments time out by the clock of the job. Flink counts from the trigger of the checkpoint, and by the clock of the
 * machine.
 */
final class Alignments {
    private static long timeoutMs;

    private Alignments() {}

    static void set(long milliseconds) {
        timeoutMs = milliseconds;
    }

    /** Lets the barriers at the inputs and outputs of a task time out; before it gets one. */
    static void useFor(StreamTask<?, ?> task) throws ReflectiveOperationException {
        if (timeoutMs == 0) {
            return;
        }
        TimerService time = ManualTime.of(task);
        MailboxExecutor mails = (MailboxExecutor) field(StreamTask.class, task, "mainMailboxExecutor");
        DelayableTimer timer = BarrierAlignmentUtil.createRegisterTimerCallback(mails, time);
        DelayableTimer corrected = (action, delay) -> timer.registerTask(action, left(delay));
        Object outputs = field(StreamTask.class, task, "subtaskCheckpointCoordinator");
        replace(outputs.getClass(), outputs, "clock", new Zero());
        replace(outputs.getClass(), outputs, "registerTimer", corrected);
        var handler = StreamTask.class.getDeclaredMethod("getCheckpointBarrierHandler");
        handler.setAccessible(true);
        Optional<?> inputs = (Optional<?>) handler.invoke(task);
        if (inputs.isPresent() && inputs.get() instanceof SingleCheckpointBarrierHandler) {
            replace(CheckpointBarrierHandler.class, inputs.get(), "clock", new Zero());
            replace(SingleCheckpointBarrierHandler.class, inputs.get(), "registerTimer", corrected);
        }
    }

    /** What is left of the timeout; {@code delay} is the timeout and the time of the machine at which the checkpoint was triggered. */
    private static Duration left(Duration delay) {
        long passed = ManualTime.passedSince(delay.toMillis() - timeoutMs);
        return Duration.ofMillis(Math.max(timeoutMs - passed, 0));
    }

    private static void replace(Class<?> type, Object target, String name, Object value)
            throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.set(target, value);
    }

    /** Behind no checkpoint, so that Flink adds the time of its trigger to the timeout. */
    private static final class Zero extends Clock {
        @Override
        public long absoluteTimeMillis() {
            return 0;
        }

        @Override
        public long relativeTimeMillis() {
            return 0;
        }

        @Override
        public long relativeTimeNanos() {
            return 0;
        }
    }
}
