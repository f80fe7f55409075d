(** Formulas in clauses, as SPEC section 10 makes them: variables that have names are numbered in
    order, and "at most m of these" is written by pairs or by Sinz's sequential counter (Towards an
    optimal CNF encoding of Boolean cardinality constraints, CP 2005), whose variables come
    after. What satisfies the formula by names satisfies the clauses by numbers, so that a
    refutation of the clauses refutes it. *)
From Coq Require Import Bool List ZArith Lia FMapPositive.
From Coq Require FMapAVL FMapFacts OrderedTypeEx.
From Oraccl Require Lrat.
Import ListNotations.
Open Scope Z_scope.

Definition how_many {A} (f : A -> bool) (l : list A) : nat := length (filter f l).
Lemma how_many_cons {A} (f : A -> bool) a l : how_many f (a :: l) = ((if f a then 1 else 0) + how_many f l)%nat.
Proof. unfold how_many. simpl. destruct (f a); reflexivity. Qed.

(** ** At most m *)

(** The numbers from [a] on, [n] of them. *)
Definition from_on (a : Z) (n : nat) : list Z := map (fun i => a + Z.of_nat i) (seq 0 n).
Lemma in_from_on a n x : In x (from_on a n) <-> a <= x < a + Z.of_nat n.
Proof.
  unfold from_on. rewrite in_map_iff. split.
  - intros [i [<- Hi]]. apply in_seq in Hi. lia.
  - intros Hx. exists (Z.to_nat (x - a)). rewrite in_seq. lia.
Qed.
(** From [a] to [b]. *)
Definition range (a b : Z) : list Z := from_on a (Z.to_nat (b + 1 - a)).
Lemma in_range a b x : In x (range a b) <-> a <= x <= b.
Proof. unfold range. rewrite in_from_on. lia. Qed.

Inductive item := Clause (c : Lrat.clause) | At_most (m : nat) (xs : list Z).

Notation true_in := Lrat.true_in.
Definition satisfies (rho : positive -> bool) (i : item) : Prop :=
  match i with
  | Clause c => Lrat.holds rho c
  | At_most m xs => (how_many (true_in rho) xs <= m)%nat
  end.

Fixpoint pairs (xs : list Z) : list Lrat.clause :=
  match xs with [] => [] | x :: xs => map (fun y => [- x; - y]) xs ++ pairs xs end.

(** The variables [row + j], for j < m, say that more than j of those before are true. *)
Fixpoint counted (m : nat) (row : Z) (xs : list Z) : list Lrat.clause :=
  match xs with
  | [] => []
  | x :: xs =>
      let over := [- x; - (row + Z.of_nat m - 1)] in
      match xs with
      | [] => [over]
      | _ => let next := row + Z.of_nat m in
             [[- x; next]; [- row; next]] ++
             flat_map (fun j => [[- x; - (row + j - 1); next + j]; [- (row + j); next + j]]) (from_on 1 (m - 1)) ++
             over :: counted m next xs
      end
  end.
Definition counter (m : nat) (row : Z) (xs : list Z) : list Lrat.clause :=
  match xs with
  | [] => []
  | x :: xs => [- x; row] :: map (fun j => [- (row + j)]) (from_on 1 (m - 1)) ++ counted m row xs
  end.

(** The clauses of items, with variables from [next] on for the counters. *)
Fixpoint clauses (next : Z) (l : list item) : list Lrat.clause :=
  match l with
  | [] => []
  | Clause c :: l => c :: clauses next l
  | At_most m xs :: l =>
      let n := length xs in
      if (n <=? m)%nat then clauses next l
      else if (m =? 1)%nat && (n <=? 6)%nat then pairs xs ++ clauses next l
      else if (m =? 0)%nat then map (fun x => [- x]) xs ++ clauses next l
      else counter m next xs ++ clauses (next + Z.of_nat ((n - 1) * m)) l
  end.

Section Counter.
Variable rho : positive -> bool.
Variable m : nat.
Hypothesis m1 : (1 <= m)%nat.

Lemma neg_true z : z <> 0 -> true_in rho (- z) = negb (true_in rho z).
Proof. destruct z; simpl; [congruence|reflexivity|rewrite negb_involutive; reflexivity]. Qed.
Lemma two a b : true_in rho a = true \/ true_in rho b = true -> Lrat.holds rho [a; b].
Proof. intros [H|H]; [exists a|exists b]; simpl; auto. Qed.
Lemma three a b c : true_in rho a = true \/ true_in rho b = true \/ true_in rho c = true -> Lrat.holds rho [a; b; c].
Proof. intros [H|[H|H]]; [exists a|exists b|exists c]; simpl; auto. Qed.

(** The rows of variables say what they are for, [c] being how many were true before. *)
Definition says (row : Z) (c : nat) : Prop := forall j, 0 <= j < Z.of_nat m -> true_in rho (row + j) = (j <? Z.of_nat c).
Fixpoint rows (row : Z) (c : nat) (xs : list Z) : Prop :=
  match xs with
  | [] => True
  | x :: xs => says row c /\ rows (row + Z.of_nat m) (c + if true_in rho x then 1 else 0) xs
  end.

Lemma counted_holds xs : forall row c, 0 < row -> (forall x, In x xs -> 0 < x) -> rows row c xs ->
  (c + how_many (true_in rho) xs <= m)%nat -> forall cl, In cl (counted m row xs) -> Lrat.holds rho cl.
Proof.
  induction xs as [|x xs IH]; intros row c Hr Hp Hs Hm cl Hc; [destruct Hc|].
  destruct Hs as [Hs Hs']. rewrite how_many_cons in Hm. pose proof (Hp x (or_introl eq_refl)) as Hx.
  assert (Over : Lrat.holds rho [- x; - (row + Z.of_nat m - 1)]).
  { apply two. rewrite !neg_true by lia. destruct (true_in rho x) eqn:E; auto. right.
    replace (row + Z.of_nat m - 1) with (row + (Z.of_nat m - 1)) by lia. rewrite Hs by lia. apply negb_true_iff, Z.ltb_ge. lia. }
  destruct xs as [|y xs].
  - destruct Hc as [<-|[]]. exact Over.
  - set (next := row + Z.of_nat m) in *. destruct Hs' as [Hn Hs'].
    assert (Hc' : In cl ([[- x; next]; [- row; next]] ++
             flat_map (fun j => [[- x; - (row + j - 1); next + j]; [- (row + j); next + j]]) (from_on 1 (m - 1)) ++
             [- x; - (row + Z.of_nat m - 1)] :: counted m next (y :: xs))) by exact Hc. clear Hc.
    apply in_app_or in Hc'. destruct Hc' as [[<-|[<-|[]]]|Hc'].
    + apply two. rewrite neg_true by lia. destruct (true_in rho x) eqn:E; auto. right.
      replace next with (next + 0) by lia. rewrite Hn by lia. apply Z.ltb_lt. lia.
    + apply two. rewrite neg_true by lia. replace (true_in rho row) with (true_in rho (row + 0)) by (f_equal; lia).
      rewrite Hs by lia. replace (true_in rho next) with (true_in rho (next + 0)) by (f_equal; lia). rewrite Hn by lia.
      destruct (Z.ltb_spec 0 (Z.of_nat c)); auto. right. apply Z.ltb_lt. lia.
    + apply in_app_or in Hc'. destruct Hc' as [Hc'|[<-|Hc']]; [|exact Over|].
      * apply in_flat_map in Hc'. destruct Hc' as [j [Hj Hc']]. apply in_from_on in Hj.
        destruct Hc' as [<-|[<-|[]]].
        -- apply three. rewrite !neg_true by lia. destruct (true_in rho x) eqn:E; auto. right.
           replace (row + j - 1) with (row + (j - 1)) by lia. rewrite Hs, Hn by lia.
           destruct (Z.ltb_spec (j - 1) (Z.of_nat c)); auto. right. apply Z.ltb_lt. lia.
        -- apply two. rewrite !neg_true by lia. rewrite Hs, Hn by lia.
           destruct (Z.ltb_spec j (Z.of_nat c)); auto. right. apply Z.ltb_lt. lia.
      * apply (IH next (c + if true_in rho x then 1 else 0)%nat); auto; try lia.
        -- intros z Hz. apply Hp. right. exact Hz.
        -- split; assumption.
Qed.

Lemma counter_holds xs row : 0 < row -> (forall x, In x xs -> 0 < x) ->
  match xs with [] => True | x :: xs => rows row (if true_in rho x then 1 else 0) xs end -> (2 <= length xs)%nat ->
  (how_many (true_in rho) xs <= m)%nat -> forall cl, In cl (counter m row xs) -> Lrat.holds rho cl.
Proof.
  destruct xs as [|x xs]; intros Hr Hp Hs Hl Hm cl Hc; [destruct Hc|]. rewrite how_many_cons in Hm.
  destruct xs as [|y xs]; [simpl in Hl; lia|]. pose proof (proj1 Hs) as S0. pose proof (Hp x (or_introl eq_refl)).
  destruct Hc as [<-|Hc].
  - apply two. rewrite neg_true by lia. destruct (true_in rho x) eqn:E; auto. right.
    replace row with (row + 0) by lia. rewrite S0 by lia. reflexivity.
  - apply in_app_or in Hc. destruct Hc as [Hc|Hc].
    + apply in_map_iff in Hc. destruct Hc as [j [<- Hj]]. apply in_from_on in Hj.
      exists (- (row + j)). split; [left; reflexivity|]. rewrite neg_true by lia. rewrite S0 by lia. apply negb_true_iff, Z.ltb_ge.
      destruct (true_in rho x); simpl; lia.
    + apply (counted_holds (y :: xs) row (if true_in rho x then 1 else 0)%nat); auto.
      intros z Hz. apply Hp. right. exact Hz.
Qed.
End Counter.

(** Whatever the variables before [row] are, those of the counter can say what they are for. *)
Definition count_by (rho : positive -> bool) (m : nat) (row : Z) (xs : list Z) (p : positive) : bool :=
  let d := Zpos p - row in
  if (0 <=? d) then d mod Z.of_nat m <? Z.of_nat (how_many (true_in rho) (firstn (S (Z.to_nat (d / Z.of_nat m))) xs)) else rho p.
Lemma count_by_before rho m row xs z : 0 < z < row -> true_in (count_by rho m row xs) z = true_in rho z.
Proof. intros Hz. destruct z as [|p|p]; try lia. simpl. unfold count_by. destruct (Z.leb_spec 0 (Z.pos p - row)); [lia|reflexivity]. Qed.
Lemma how_many_ext {A} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> how_many f l = how_many g l.
Proof. intros H. unfold how_many. f_equal. apply filter_ext_in. exact H. Qed.
Lemma count_by_row rho m row all i j : 0 < row -> 0 <= j < Z.of_nat m ->
  true_in (count_by rho m row all) (row + Z.of_nat m * Z.of_nat i + j) = (j <? Z.of_nat (how_many (true_in rho) (firstn (S i) all))).
Proof.
  intros Hr Hj. set (r := row + Z.of_nat m * Z.of_nat i + j). assert (0 < r) by (unfold r; nia).
  destruct r as [|p|p] eqn:Er; try lia. cbn [Lrat.true_in]. unfold count_by.
  assert (D : Z.pos p - row = Z.of_nat i * Z.of_nat m + j) by (rewrite <- Er; unfold r; nia).
  rewrite D. destruct (Z.leb_spec 0 (Z.of_nat i * Z.of_nat m + j)); [|nia].
  rewrite Z.div_add_l by lia. rewrite (Z.div_small j) by lia. rewrite (Z.add_comm _ j), Z.mod_add by lia. rewrite Z.mod_small by lia.
  replace (S (Z.to_nat (Z.of_nat i + 0))) with (S i) by lia. reflexivity.
Qed.
Lemma count_by_rows rho m row all : (1 <= m)%nat -> 0 < row -> (forall x, In x all -> 0 < x < row) ->
  forall rest before, all = before ++ rest -> before <> [] ->
  rows (count_by rho m row all) m (row + Z.of_nat (m * (length before - 1))) (how_many (true_in (count_by rho m row all)) before) rest.
Proof.
  intros Hm Hr Hp. induction rest as [|x rest IH]; intros before E Hb; [exact I|]. split.
  - intros j Hj. destruct before as [|b before]; [congruence|]. clear Hb IH.
    replace (row + Z.of_nat (m * (length (b :: before) - 1)) + j) with (row + Z.of_nat m * Z.of_nat (length before) + j)
      by (cbn [length]; replace (S (length before) - 1)%nat with (length before) by lia; nia).
    rewrite count_by_row by lia. replace (firstn (S (length before)) all) with (b :: before).
    + f_equal. f_equal. apply how_many_ext. intros z Hz. symmetry. apply count_by_before. apply Hp. rewrite E. apply in_or_app. auto.
    + rewrite E. change (S (length before)) with (length (b :: before)). rewrite firstn_app, firstn_all, Nat.sub_diag. cbn [firstn]. rewrite app_nil_r. reflexivity.
  - specialize (IH (before ++ [x])). rewrite <- app_assoc in IH. specialize (IH E ltac:(destruct before; discriminate)).
    rewrite app_length in IH. simpl length in IH. unfold how_many in *. rewrite filter_app, app_length in IH.
    replace (row + Z.of_nat (m * (length before - 1)) + Z.of_nat m) with (row + Z.of_nat (m * (length before + 1 - 1))).
    + simpl filter in IH. destruct (true_in (count_by rho m row all) x); exact IH.
    + destruct before as [|b before]; [congruence|]. simpl length. nia.
Qed.

(** ** Clauses by numbers *)

(** All variables are before [next]. *)
Definition before (next : Z) (i : item) : Prop :=
  match i with
  | Clause c => forall l, In l c -> Z.abs l < next
  | At_most _ xs => forall x, In x xs -> 0 < x < next
  end.
Definition alike (next : Z) (rho rho' : positive -> bool) : Prop := forall p, Zpos p < next -> rho' p = rho p.
Lemma alike_true next rho rho' l : alike next rho rho' -> Z.abs l < next -> true_in rho' l = true_in rho l.
Proof. intros H Hl. destruct l; simpl in *; auto. f_equal. apply H. lia. Qed.
Lemma alike_satisfies next rho rho' i : alike next rho rho' -> before next i -> satisfies rho i -> satisfies rho' i.
Proof.
  intros H Hb Hs. destruct i as [c|m xs]; simpl in *.
  - destruct Hs as [l [Hl Ht]]. exists l. split; auto. rewrite (alike_true _ _ _ _ H); auto.
  - erewrite how_many_ext; [exact Hs|]. intros x Hx. apply (alike_true next); auto. specialize (Hb x Hx). lia.
Qed.

Lemma pairs_hold rho xs : (forall x, In x xs -> 0 < x) -> (how_many (true_in rho) xs <= 1)%nat ->
  forall c, In c (pairs xs) -> Lrat.holds rho c.
Proof.
  induction xs as [|x xs IH]; simpl; intros Hp Hm c Hc; [destruct Hc|]. rewrite how_many_cons in Hm.
  apply in_app_or in Hc. destruct Hc as [Hc|Hc].
  - apply in_map_iff in Hc. destruct Hc as [y [<- Hy]]. pose proof (Hp x (or_introl eq_refl)). pose proof (Hp y (or_intror Hy)).
    apply two. rewrite !neg_true by lia. destruct (true_in rho x) eqn:E; auto. right.
    destruct (true_in rho y) eqn:Ey; auto. exfalso.
    assert (In y (filter (true_in rho) xs)) as F by (apply filter_In; auto). unfold how_many in Hm. destruct (filter (true_in rho) xs); [destruct F|simpl in Hm; lia].
  - apply IH; auto. lia.
Qed.

Lemma alike_holds next rho rho' c : alike next rho rho' -> (forall l, In l c -> Z.abs l < next) -> Lrat.holds rho c -> Lrat.holds rho' c.
Proof. intros H Hb [l [Hl Ht]]. exists l. split; auto. rewrite (alike_true next rho); auto. Qed.
Lemma counted_before m : forall xs row next, 0 < row -> (1 <= m)%nat -> (forall x, In x xs -> 0 < x < next) ->
  row + Z.of_nat (length xs * m) <= next -> forall c l, In c (counted m row xs) -> In l c -> Z.abs l < next.
Proof.
  induction xs as [|x xs IH]; intros row next Hr Hm Hx Hn c l Hc Hl; [destruct Hc|]. cbn [length] in Hn.
  pose proof (Hx x (or_introl eq_refl)).
  assert (Over : forall l, In l [- x; - (row + Z.of_nat m - 1)] -> Z.abs l < next) by (intros ? [<-|[<-|[]]]; nia).
  destruct xs as [|y xs].
  - destruct Hc as [<-|[]]. auto.
  - assert (Hc' : In c ([[- x; row + Z.of_nat m]; [- row; row + Z.of_nat m]] ++
             flat_map (fun j => [[- x; - (row + j - 1); row + Z.of_nat m + j]; [- (row + j); row + Z.of_nat m + j]]) (from_on 1 (m - 1)) ++
             [- x; - (row + Z.of_nat m - 1)] :: counted m (row + Z.of_nat m) (y :: xs))) by exact Hc. clear Hc. cbn [length] in Hn.
    apply in_app_or in Hc'. destruct Hc' as [[<-|[<-|[]]]|Hc'].
    + destruct Hl as [<-|[<-|[]]]; nia.
    + destruct Hl as [<-|[<-|[]]]; nia.
    + apply in_app_or in Hc'. destruct Hc' as [Hc'|[<-|Hc']]; auto.
      * apply in_flat_map in Hc'. destruct Hc' as [j [Hj Hc']]. apply in_from_on in Hj.
        destruct Hc' as [<-|[<-|[]]]; repeat (destruct Hl as [<-|Hl]; [nia|]); destruct Hl.
      * apply (IH (row + Z.of_nat m) next) with c; auto; [lia| |cbn [length]; nia]. intros z Hz. apply Hx. right. exact Hz.
Qed.
Lemma counter_before m xs row : 0 < row -> (1 <= m)%nat -> (2 <= length xs)%nat -> (forall x, In x xs -> 0 < x < row) ->
  forall c l, In c (counter m row xs) -> In l c -> Z.abs l < row + Z.of_nat ((length xs - 1) * m).
Proof.
  destruct xs as [|x xs]; intros Hr Hm Hl Hx c l Hc Hin; [destruct Hc|]. simpl length in *. rewrite Nat.sub_succ, Nat.sub_0_r in *.
  pose proof (Hx x (or_introl eq_refl)). destruct Hc as [<-|Hc].
  - destruct Hin as [<-|[<-|[]]]; nia.
  - apply in_app_or in Hc. destruct Hc as [Hc|Hc].
    + apply in_map_iff in Hc. destruct Hc as [j [<- Hj]]. apply in_from_on in Hj. destruct Hin as [<-|[]]. nia.
    + apply (counted_before m xs row) with c; auto; try lia. intros z Hz. specialize (Hx z (or_intror Hz)). nia.
Qed.

(** What satisfies the items satisfies their clauses, with some values for the counters. *)
Theorem clauses_hold l : forall next rho, 0 < next -> (forall i, In i l -> before next i) -> (forall i, In i l -> satisfies rho i) ->
  exists rho', alike next rho rho' /\ forall c, In c (clauses next l) -> Lrat.holds rho' c.
Proof.
  induction l as [|i l IH]; intros next rho Hn Hb Hs; [exists rho; split; [intros p _; reflexivity|intros c []]|].
  pose proof (Hs i (or_introl eq_refl)) as Si. pose proof (Hb i (or_introl eq_refl)) as Bi.
  assert (Hb' : forall i, In i l -> before next i) by (intros; apply Hb; right; auto).
  assert (Hs' : forall i, In i l -> satisfies rho i) by (intros; apply Hs; right; auto).
  destruct i as [c|m xs]; simpl clauses.
  - destruct (IH next rho Hn Hb' Hs') as [rho' [A B]]. exists rho'. split; auto.
    intros d [<-|Hd]; auto. apply (alike_holds next rho); auto.
  - assert (Plain : forall cs, (forall c, In c cs -> Lrat.holds rho c) -> (forall c l, In c cs -> In l c -> Z.abs l < next) ->
      exists rho', alike next rho rho' /\ forall c, In c (cs ++ clauses next l) -> Lrat.holds rho' c).
    { intros cs Hc Hcb. destruct (IH next rho Hn Hb' Hs') as [rho' [A B]]. exists rho'. split; auto.
      intros d Hd. apply in_app_or in Hd. destruct Hd as [Hd|Hd]; auto. apply (alike_holds next rho); eauto. }
    assert (Pos : forall x, In x xs -> 0 < x) by (intros x Hx; specialize (Bi x Hx); lia).
    destruct (Nat.leb_spec (length xs) m) as [|Long]; [apply (Plain []); [intros c []|intros c z []]|].
    destruct ((m =? 1)%nat && (length xs <=? 6)%nat) eqn:E1.
    + apply andb_true_iff in E1. destruct E1 as [E1 _]. apply Nat.eqb_eq in E1. subst m. apply Plain.
      * apply pairs_hold; auto.
      * clear - Bi. simpl in Bi. induction xs as [|x xs IH]; simpl; intros c l Hc Hl; [destruct Hc|].
        apply in_app_or in Hc. destruct Hc as [Hc|Hc].
        -- apply in_map_iff in Hc. destruct Hc as [y [<- Hy]]. pose proof (Bi x (or_introl eq_refl)). pose proof (Bi y (or_intror Hy)).
           destruct Hl as [<-|[<-|[]]]; lia.
        -- apply IH with c; auto. intros; apply Bi; right; auto.
    + destruct (Nat.eqb_spec m 0) as [E0|E0].
      * apply Plain.
        -- intros c Hc. apply in_map_iff in Hc. destruct Hc as [x [<- Hx]]. exists (- x). split; [left; auto|].
           rewrite neg_true by (specialize (Pos x Hx); lia). apply negb_true_iff, not_true_is_false. intros T.
           assert (In x (filter (true_in rho) xs)) as F by (apply filter_In; auto).
           simpl in Si. unfold how_many in Si. destruct (filter (true_in rho) xs); [destruct F|simpl in Si; lia].
        -- intros c z Hc Hz. apply in_map_iff in Hc. destruct Hc as [x [<- Hx]]. specialize (Bi x Hx). destruct Hz as [<-|[]]. lia.
      * assert (L2 : (2 <= length xs)%nat) by lia. set (next' := next + Z.of_nat ((length xs - 1) * m)).
        set (rho1 := count_by rho m next xs).
        assert (A1 : alike next rho rho1).
        { intros p Hp. pose proof (count_by_before rho m next xs (Zpos p) ltac:(lia)) as H. exact H. }
        destruct (IH next' rho1) as [rho' [A B]].
        -- unfold next'. nia.
        -- intros i Hi. specialize (Hb' i Hi). destruct i as [c|m' ys]; simpl in *.
           ++ intros z Hz. specialize (Hb' z Hz). unfold next'. nia.
           ++ intros z Hz. specialize (Hb' z Hz). unfold next'. nia.
        -- intros i Hi. apply (alike_satisfies next rho); auto.
        -- exists rho'. split.
           ++ intros p Hp. rewrite A by (unfold next'; nia). apply A1, Hp.
           ++ intros d Hd. apply in_app_or in Hd. destruct Hd as [Hd|Hd]; auto.
              apply (alike_holds next' rho1); auto; [intros z Hz; apply (counter_before m xs next Hn ltac:(lia) L2 Bi d z); auto|].
              apply (counter_holds rho1 m ltac:(lia) xs next); auto.
              ** destruct xs as [|x xs]; auto.
                 pose proof (count_by_rows rho m next (x :: xs) ltac:(lia) Hn Bi xs [x] eq_refl ltac:(discriminate)) as R.
                 simpl length in R. rewrite Nat.sub_diag, Nat.mul_0_r, Z.add_0_r in R. unfold how_many in R. simpl filter in R.
                 fold rho1 in R. destruct (true_in rho1 x); exact R.
              ** simpl in Si. erewrite how_many_ext; [exact Si|]. intros x Hx. apply (alike_true next); auto. specialize (Bi x Hx). lia.
Qed.

(** ** Variables by name *)

(** What it says, and of what. *)
Definition var := (((nat * nat) * (nat * nat)) * Z)%type.
Definition var_dec (a b : var) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Module Key2 := OrderedTypeEx.PairOrderedType OrderedTypeEx.Nat_as_OT OrderedTypeEx.Nat_as_OT.
Module Key4 := OrderedTypeEx.PairOrderedType Key2 Key2.
Module Key5 := OrderedTypeEx.PairOrderedType Key4 OrderedTypeEx.Z_as_OT.
Module Names := FMapAVL.Make Key5.

(** What is not a variable is false. *)
Inductive literal := Always | Yes (x : var) | Not (x : var).
Inductive constraint := One_of (c : list literal) | Most (m : nat) (xs : list var).
Definition means (A : var -> bool) (l : literal) : bool :=
  match l with Always => true | Yes x => A x | Not x => negb (A x) end.
Definition obeys (A : var -> bool) (c : constraint) : Prop :=
  match c with
  | One_of c => exists l, In l c /\ means A l = true
  | Most m xs => (how_many A xs <= m)%nat
  end.

Record table := Table { numbers : Names.t positive; names : PositiveMap.t var; next : positive }.
Fixpoint enter (vars : list var) (t : table) : table :=
  match vars with
  | [] => t
  | x :: vars => enter vars (Table (Names.add x (next t) (numbers t)) (PositiveMap.add (next t) x (names t)) (Pos.succ (next t)))
  end.
Definition table_of (vars : list var) : table := enter vars (Table (Names.empty positive) (PositiveMap.empty var) 1).

Section Numbered.
Variable t : table.
Definition number_of (x : var) : option positive :=
  match Names.find x (numbers t) with
  | Some p => match PositiveMap.find p (names t) with
              | Some y => if var_dec y x then if (p <? next t)%positive then Some p else None else None
              | None => None
              end
  | None => None
  end.
Definition numbered (vars : list var) : bool :=
  forallb (fun x => match number_of x with Some _ => true | None => false end) vars.
(** [None] of a clause with a literal that is true. *)
Fixpoint by_number (c : list literal) : option Lrat.clause :=
  match c with
  | [] => Some []
  | l :: c =>
      match by_number c, l with
      | None, _ | _, Always => None
      | Some d, Yes x => match number_of x with Some p => Some (Zpos p :: d) | None => Some d end
      | Some d, Not x => match number_of x with Some p => Some (Zneg p :: d) | None => None end
      end
  end.
Definition item_of (c : constraint) : list item :=
  match c with
  | One_of c => match by_number c with Some d => [Clause d] | None => [] end
  | Most m xs => [At_most m (flat_map (fun x => match number_of x with Some p => [Zpos p] | None => [] end) xs)]
  end.

Variable vars : list var.
Hypothesis all_numbered : numbered vars = true.
Variable A : var -> bool.
Hypothesis only_vars : forall x, A x = true -> In x vars.
Definition by_name (p : positive) : bool := match PositiveMap.find p (names t) with Some x => A x | None => false end.

Lemma number_name x p : number_of x = Some p -> by_name p = A x /\ (p < next t)%positive.
Proof.
  unfold number_of, by_name. destruct (Names.find x (numbers t)) as [q|]; [|discriminate].
  destruct (PositiveMap.find q (names t)) as [y|] eqn:E; [|discriminate]. destruct (var_dec y x); [|discriminate].
  destruct (Pos.ltb_spec q (next t)); [|discriminate]. intros [= <-]. rewrite E. subst. auto.
Qed.
Lemma true_numbered x : A x = true -> exists p, number_of x = Some p.
Proof.
  intros H. apply only_vars in H. unfold numbered in all_numbered. rewrite forallb_forall in all_numbered.
  specialize (all_numbered x H). destruct (number_of x); [eauto|discriminate].
Qed.
Lemma by_number_holds c : forall d, by_number c = Some d ->
  ((exists l, In l c /\ means A l = true) -> Lrat.holds by_name d) /\ (forall l, In l d -> Z.abs l < Zpos (next t)).
Proof.
  induction c as [|l c IH]; simpl; intros d Hd.
  - injection Hd as <-. split; [intros [l [[] _]]|intros l []].
  - destruct (by_number c) as [d'|]; [|discriminate]. destruct (IH d' eq_refl) as [I1 I2]. clear IH.
    assert (Keep : forall z, (exists l', In l' c /\ means A l' = true) -> Lrat.holds by_name (z :: d'))
      by (intros z H; destruct (I1 H) as [y [Hy Ty]]; exists y; simpl; auto).
    destruct l as [|x|x]; [discriminate| |].
    + destruct (number_of x) as [p|] eqn:E; injection Hd as <-.
      * destruct (number_name x p E) as [N B]. split.
        -- intros [l [[<-|Hl] T]]; [|eauto]. exists (Zpos p). simpl in *. rewrite N. auto.
        -- intros l [<-|Hl]; [lia|auto].
      * split; auto. intros [l [[<-|Hl] T]]; [|eauto]. simpl in T. destruct (true_numbered x T) as [p Hp]. congruence.
    + destruct (number_of x) as [p|] eqn:E; [|discriminate]. injection Hd as <-. destruct (number_name x p E) as [N B]. split.
      * intros [l [[<-|Hl] T]]; [|eauto]. exists (Zneg p). simpl in *. rewrite N. auto.
      * intros l [<-|Hl]; [lia|auto].
Qed.
Lemma item_of_satisfied c i : obeys A c -> In i (item_of c) -> satisfies by_name i /\ before (Zpos (next t)) i.
Proof.
  destruct c as [c|m xs]; simpl; intros Ho Hi.
  - destruct (by_number c) as [d|] eqn:E; [|destruct Hi]. destruct Hi as [<-|[]]. destruct (by_number_holds c d E) as [H1 H2]. simpl. auto.
  - destruct Hi as [<-|[]]. simpl. split.
    + eapply Nat.le_trans; [|exact Ho]. clear Ho. induction xs as [|x xs IH]; [apply le_n|]. simpl flat_map. rewrite how_many_cons.
      destruct (number_of x) as [p|] eqn:E; simpl app; [|lia]. rewrite how_many_cons. simpl true_in. destruct (number_name x p E) as [-> _]. lia.
    + intros z Hz. apply in_flat_map in Hz. destruct Hz as [x [_ Hz]]. destruct (number_of x) as [p|] eqn:E; [|destruct Hz].
      destruct Hz as [<-|[]]. pose proof (number_name x p E). lia.
Qed.
End Numbered.

(** The formula, by numbers; nothing if the variables are not all different. *)
Definition cnf (vars : list var) (cs : list constraint) : option (list Lrat.clause) :=
  let t := table_of vars in
  if numbered t vars then Some (clauses (Zpos (next t)) (flat_map (item_of t) cs)) else None.

Theorem cnf_satisfied vars cs f A : cnf vars cs = Some f -> (forall x, A x = true -> In x vars) -> (forall c, In c cs -> obeys A c) ->
  exists rho, forall c, In c f -> Lrat.holds rho c.
Proof.
  unfold cnf. set (t := table_of vars). destruct (numbered t vars) eqn:N; [|discriminate]. intros [= <-] Hv Hc.
  assert (S : forall i, In i (flat_map (item_of t) cs) -> satisfies (by_name t A) i /\ before (Zpos (next t)) i).
  { intros i Hi. apply in_flat_map in Hi. destruct Hi as [c [Hin Hi]]. apply (item_of_satisfied t vars N A Hv c); auto. }
  destruct (clauses_hold (flat_map (item_of t) cs) (Zpos (next t)) (by_name t A)) as [rho [_ H]]; [lia|intros; apply S; auto|intros; apply S; auto|eauto].
Qed.

Definition refuted_by (vars : list var) (cs : list constraint) (proof : list Lrat.line) : bool :=
  match cnf vars cs with Some f => Lrat.refutation f proof | None => false end.
(** A refutation of the clauses refutes the formula. *)
Theorem refuted_by_sound vars cs proof A : refuted_by vars cs proof = true -> (forall x, A x = true -> In x vars) ->
  ~ forall c, In c cs -> obeys A c.
Proof.
  unfold refuted_by. destruct (cnf vars cs) as [f|] eqn:E; [|discriminate]. intros R Hv Hc.
  destruct (cnf_satisfied _ _ _ _ E Hv Hc) as [rho H]. apply (Lrat.refutation_sound rho f proof R H).
Qed.
