"""The names that only one of the two editions of the library d2l has."""

_ONLY = {
    "0.17.6": """EncoderBlock RNNModel RNNModelScratch SeqDataLoader count_corpus download_all evaluate_accuracy load_corpus_time_machine
        load_data_time_machine predict_ch3 predict_ch8 read_time_machine seq_data_iter_random seq_data_iter_sequential train_ch3 train_ch8
        train_epoch_ch3 train_epoch_ch8 transpose_output transpose_qkv""".split(),
    "1.0.3": """BasicScheduler Classifier DataModule FashionMNIST GRU HPOScheduler HPOSearcher HPOTrainer HPOTuner HyperParameters LeNet
        LinearRegression LinearRegressionScratch MTFraEng Module ProgressBoard RNN RNNLM RNNLMScratch RNNScratch RandomSearcher ResNeXtBlock
        SGD Seq2Seq SoftmaxRegression SuccessiveHalvingScheduler SyntheticRegressionData TimeMachine Trainer TransformerEncoderBlock
        add_to_class batch_matmul check_len check_shape cpu expand_dims extract frozen_lake gpu hpo_objective_lenet init_cnn init_seq2seq
        int64 make_env num_gpus ones_like randn rbfkernel reduce_mean repeat show_Q_function_progress show_value_function_progress sigmoid
        swapaxes zeros_like""".split(),
}


def absent(module):
    """A module's __getattr__."""

    def of(name):
        text = f"module {module.__name__!r} has no attribute {name!r}"
        for edition, names in _ONLY.items():
            if name in names:
                text += f"; the library of d2l {edition} has: pip install --no-deps d2l=={edition}, and restart"
        raise AttributeError(text, name=name, obj=module)

    return of
