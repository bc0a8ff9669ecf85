package flowsim.jobs.checkpointed;

import java.util.Collections;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.async.RichAsyncFunction;

/** Completes after the first order of the record, in ms. */
final class Answers extends RichAsyncFunction<Tuple4<Integer, String, Long, long[]>, String> {
    private static final ScheduledExecutorService TIMER =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread thread = new Thread(work);
                        thread.setDaemon(true);
                        return thread;
                    });

    @Override
    public void asyncInvoke(Tuple4<Integer, String, Long, long[]> event, ResultFuture<String> result) {
        Board.note("invoke", getRuntimeContext().getTaskInfo(), event.f0);
        Board.count("received", Board.attempt(getRuntimeContext().getTaskInfo())).incrementAndGet();
        TIMER.schedule(
                () -> result.complete(Collections.singleton(Board.text("a", event.f1, event.f0))),
                event.f3[0],
                TimeUnit.MILLISECONDS);
    }
}
